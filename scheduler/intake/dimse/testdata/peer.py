"""Peer of tests: pynetdicom as SCU of C-ECHO, C-STORE and storage commitment.

peer.py echo PORT CALLING CALLED
peer.py store PORT CALLING CALLED FILE...     a line "STATUS FILE" for each
peer.py commit PORT CALLING CALLED OWNPORT UID[=CLASS]...   the result as JSON; OWNPORT 0: on the same association

Data sets are sent as they stand in the file (STORE_SEND_CHUNKED_DATASET).
"""
import json
import sys
import threading
import time

from pydicom.dataset import Dataset
from pydicom.filereader import read_file_meta_info
from pynetdicom import AE, _config, build_role, evt
from pynetdicom.sop_class import StorageCommitmentPushModel, StorageCommitmentPushModelInstance, Verification

_config.STORE_SEND_CHUNKED_DATASET = True
MR = "1.2.840.10008.5.1.4.1.1.4"

verb, port, calling, called, rest = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5:]
ae = AE(ae_title=calling)
# A peer that was killed is not always noticed before these are over; what is sent is sent again then.
ae.acse_timeout = ae.dimse_timeout = ae.network_timeout = 10 if verb == "store" else 60


def connect(**more):
    assoc = ae.associate("127.0.0.1", port, ae_title=called, **more)
    if not assoc.is_established:
        print("rejected" if assoc.is_rejected else "aborted", flush=True)
        sys.exit(3)
    return assoc


if verb == "echo":
    ae.add_requested_context(Verification)
    assoc = connect()
    print("%04X" % assoc.send_c_echo().Status)
    assoc.release()
elif verb == "store":
    contexts = {(str(m.MediaStorageSOPClassUID), str(m.TransferSyntaxUID)) for m in map(read_file_meta_info, rest)}
    for sop_class, syntax in sorted(contexts):
        ae.add_requested_context(sop_class, syntax)
    assoc = connect()
    for path in rest:
        status = assoc.send_c_store(path)
        print("%04X %s" % (status.Status, path) if status else "none " + path, flush=True)
        if not assoc.is_established:
            sys.exit(3)
    assoc.release()
elif verb == "commit":
    came, done = [], threading.Event()

    def handle(event):
        info = event.event_information
        came.append({
            "type": event.event_type,
            "transaction": str(info.TransactionUID),
            "safe": [str(i.ReferencedSOPInstanceUID) for i in info.get("ReferencedSOPSequence", [])],
            "failed": {str(i.ReferencedSOPInstanceUID): int(i.FailureReason) for i in info.get("FailedSOPSequence", [])},
        })
        done.set()
        return 0x0000, None

    handlers = [(evt.EVT_N_EVENT_REPORT, handle)]
    own = int(rest[0])
    if own:
        listener = AE(ae_title=calling)
        listener.add_supported_context(StorageCommitmentPushModel, scu_role=False, scp_role=True)
        server = listener.start_server(("127.0.0.1", own), block=False, evt_handlers=handlers)
    ae.add_requested_context(StorageCommitmentPushModel)
    assoc = connect(evt_handlers=handlers)
    ds = Dataset()
    ds.TransactionUID = "1.2.826.0.1.3680043.10.999.77"
    ds.ReferencedSOPSequence = []
    for text in rest[1:]:
        uid, _, sop_class = text.partition("=")
        item = Dataset()
        item.ReferencedSOPClassUID, item.ReferencedSOPInstanceUID = sop_class or MR, uid
        ds.ReferencedSOPSequence.append(item)
    status, _ = assoc.send_n_action(ds, 1, StorageCommitmentPushModel, StorageCommitmentPushModelInstance)
    if own:
        assoc.release()
    done.wait(60)
    time.sleep(0.5)  # the answer goes out after the handler
    if not own:
        assoc.release()
    else:
        server.shutdown()
    print(json.dumps({"status": status.Status, "results": came}))
