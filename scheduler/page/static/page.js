// Keeps a view up to date: events say when it is another one, and where they do not come it is
// asked for every few seconds. The server makes the view; what is other now is replaced.
"use strict";
(() => {
  const { body } = document;
  if (!("live" in body.dataset)) return;
  const least = 1000, every = 3000; // ms between two looks, after events and without them
  const status = document.getElementById("link");
  const say = text => { if (status.textContent !== text) status.textContent = text; };
  let looking = false, again = false, last = 0, timer = 0;

  async function look() {
    if (looking) { again = true; return; }
    looking = true;
    last = Date.now();
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "error" });
      if (answer.status === 401) { location.reload(); return; }
      if (!answer.ok) throw new Error(answer.status);
      replace(new DOMParser().parseFromString(await answer.text(), "text/html"));
      body.dataset.looks = Number(body.dataset.looks || 0) + 1;
      say(stream ? "This page follows the job by itself." : "This page is up to date.");
    } catch {
      say("The scheduler does not answer. This page tries again.");
    } finally {
      looking = false;
      if (again) { again = false; soon(); }
    }
  }

  function replace(next) {
    for (const part of document.querySelectorAll("[data-part]")) {
      const other = next.getElementById(part.id);
      if (!other || other.innerHTML === part.innerHTML) continue;
      const focused = part.contains(document.activeElement) ? document.activeElement : null;
      const at = focused && (focused.id ? "#" + CSS.escape(focused.id) : focused.href ? `a[href="${CSS.escape(focused.getAttribute("href"))}"]` : "");
      part.replaceChildren(...other.childNodes);
      if (focused) (at && part.querySelector(at) || document.getElementById("main")).focus({ preventScroll: true });
    }
  }

  function soon() {
    clearTimeout(timer);
    timer = setTimeout(look, Math.max(0, last + least - Date.now()));
  }

  let stream = null, polling = 0;
  function poll() { polling ||= setInterval(() => document.hidden || look(), every); }

  if (body.dataset.events && "EventSource" in window) {
    stream = new EventSource(body.dataset.events);
    stream.addEventListener("status", soon);
    stream.addEventListener("end", () => { stream.close(); soon(); });
    stream.onerror = () => { if (stream.readyState === EventSource.CLOSED) { stream = null; poll(); } };
    stream.onopen = () => say("This page follows the job by itself.");
  } else {
    say("This page is up to date.");
    poll();
  }
})();
