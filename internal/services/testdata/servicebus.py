"""A stand-in for one subscription of Azure Service Bus: servicebus.py HOST:PORT TOPIC/Subscriptions/NAME

It serves receivers that lock messages and settle them (peek-lock), takes every token at $cbs (claims-based security), and
gives messages that were not settled to the next receiver when their connection ends. Requests come as lines of JSON on
standard input, {"send": BODY} or {}; each is answered by a line with the numbers of messages that wait and are locked.
The end of standard input ends it.
"""

import json
import os
import sys
import threading
import uuid

from proton import Endpoint, Message, int32
from proton.handlers import MessagingHandler
from proton.reactor import ApplicationEvent, Container, EventInjector


class Subscription(MessagingHandler):
    def __init__(self, address, entity, requests):
        super().__init__(auto_settle=False, prefetch=100)
        self.address, self.entity, self.requests = address, entity.lower(), requests
        self.waiting = []  # bodies
        self.locked = {}  # delivery to body
        self.receivers = []  # links on which messages go out
        self.answers = {}  # of the links from $cbs, by their own address

    def on_start(self, event):
        event.container.selectable(self.requests)
        event.container.listen(self.address)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in sys.stdin:
            self.requests.trigger(ApplicationEvent("request", subject=json.loads(line)))
        os._exit(0)

    def on_request(self, event):
        if "send" in event.subject:
            self.waiting.append(event.subject["send"])
        self.deliver()
        print(json.dumps({"waiting": len(self.waiting), "locked": len(self.locked)}), flush=True)

    def on_link_opening(self, event):
        link = event.link
        link.source.copy(link.remote_source)
        link.target.copy(link.remote_target)
        link.snd_settle_mode, link.rcv_settle_mode = link.remote_snd_settle_mode, link.remote_rcv_settle_mode
        if not link.is_sender:
            return
        if link.remote_source.address == "$cbs":
            self.answers[link.remote_target.address] = link
        elif link.remote_source.address.lower() == self.entity:
            self.receivers.append(link)
        else:
            print("no entity", link.remote_source.address, file=sys.stderr)

    def on_message(self, event):  # a request to $cbs
        request = event.message
        link = self.answers.get(request.reply_to) or next(iter(self.answers.values()))
        link.send(Message(correlation_id=request.id, properties={"status-code": int32(202), "status-description": "Accepted"}))
        event.delivery.update(event.delivery.ACCEPTED)
        event.delivery.settle()

    def on_sendable(self, event):
        self.deliver()

    def deliver(self):
        for link in self.receivers:
            while self.waiting and link.credit > 0 and link.state & Endpoint.REMOTE_ACTIVE:
                body = self.waiting.pop(0)
                message = Message(body=body.encode(), inferred=True)  # a data section
                delivery = link.delivery(uuid.uuid4().hex[:16])  # the token of the lock has 16 bytes
                link.stream(message.encode())
                link.advance()
                self.locked[delivery.tag] = (link, body)

    def on_accepted(self, event):
        self.locked.pop(event.delivery.tag, None)
        event.delivery.settle()

    def on_released(self, event):
        _, body = self.locked.pop(event.delivery.tag, (None, None))
        if body is not None:
            self.waiting.append(body)
        event.delivery.settle()
        self.deliver()

    on_rejected = on_released

    def unlock(self, gone):
        for tag, (link, body) in list(self.locked.items()):
            if gone(link):
                del self.locked[tag]
                self.waiting.append(body)
        self.receivers = [link for link in self.receivers if not gone(link)]
        self.deliver()

    def on_link_closed(self, event):
        self.unlock(lambda link: link == event.link)

    def on_disconnected(self, event):
        self.unlock(lambda link: link.connection == event.connection)


Container(Subscription(sys.argv[1], sys.argv[2], EventInjector())).run()
