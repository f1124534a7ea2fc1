"""Our participant and a dust-dds one, alone in a network namespace; prints one JSON line with what each of them got.

dust-dds cannot be told which interface to use, so it must not see any but loopback: run this under `unshare --net`.
"""

# No `from __future__ import annotations` here: dust-dds reads the annotations as types.
import asyncio
import json
import subprocess
import sys
import time
from dataclasses import dataclass

COUNT = 200
DOMAIN = 3


def dust() -> None:
    """The other side: write and read until everything is there, then print what came."""
    import dust_dds as dds

    @dataclass
    class Message:
        number: dds.TypeKind.int32
        text: str

    participant = dds.DomainParticipantFactory.get_instance().create_participant(domain_id=DOMAIN)
    reliable = dds.ReliabilityQosPolicy(dds.ReliabilityQosPolicyKind.Reliable, dds.DurationKind.Infinite())
    everything = dds.HistoryQosPolicy(dds.HistoryQosPolicyKind.KeepAll())
    there, back = (participant.create_topic(name, Message) for name in ("there", "back"))
    writer = participant.create_publisher().create_datawriter(
        there, qos=dds.DataWriterQos(reliability=reliable, history=everything)
    )
    reader = participant.create_subscriber().create_datareader(
        back, qos=dds.DataReaderQos(reliability=reliable, history=everything)
    )
    got, written, end = [], 0, time.monotonic() + 600
    while (len(got) < COUNT or written < COUNT) and time.monotonic() < end:
        if written < COUNT and writer.get_publication_matched_status().get_current_count() > 0:
            writer.write(Message(written, "dust" * written))
            written += 1
        try:
            # The values cannot be compared: dust-dds 0.16 gives its Python readers objects without attributes,
            # also for samples of its own writers. That a sample is valid means that it was read to its end.
            got += [sample.get_sample_info().get_valid_data() for sample in reader.take(100)]
        except Exception as error:  # dust-dds says with an exception that there is nothing
            if "NoData" not in repr(error):
                raise
        time.sleep(0.001)
    print(json.dumps(got), flush=True)  # noqa: T201
    sys.stdin.read()  # stay until our side has everything
    participant.delete_contained_entities()


async def ours() -> None:
    """Our side, and the end of both."""
    from rookery.live.udp import open_participant
    from rookery.rtps import CdrMember, CdrString, CdrStruct, Primitive, QualityOfService, Reliability
    from rookery.rtps.cdr import decode_sample, encode_sample
    from rookery.rtps.events import SampleReceived

    message = CdrStruct("Message", (CdrMember("number", Primitive.INT32), CdrMember("text", CdrString())))
    qos = QualityOfService(reliability=Reliability.RELIABLE, history_depth=None)
    got = []

    def on_event(event):
        if isinstance(event, SampleReceived):
            value = decode_sample(message, event.payload)
            got.append([value["number"], value["text"]])

    udp = open_participant(on_event=on_event, domain_id=DOMAIN)
    participant = udp.participant
    participant.create_reader("there", "Message", qos, keyed=False, now=udp.now())
    writer = participant.create_writer("back", "Message", qos, keyed=False, now=udp.now())
    udp.flush()
    other = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "dust", stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    async with asyncio.timeout(600):
        while not participant.matched(writer):
            await asyncio.sleep(0.01)
        for number in range(COUNT):
            payload = encode_sample(message, {"number": number, "text": "rook" * number})
            participant.write(writer, payload, now=udp.now())
            udp.flush()
            await asyncio.sleep(0)
        theirs = json.loads(await other.stdout.readline())
        while len(got) < COUNT:
            await asyncio.sleep(0.01)
    vendor = participant.peers[0].announcement.vendor.hex()
    other.stdin.close()
    await other.wait()
    await udp.close()
    print(json.dumps({"vendor": vendor, "ours": got, "theirs": theirs}))  # noqa: T201


if __name__ == "__main__":
    if sys.argv[1:] == ["dust"]:
        dust()
    else:
        asyncio.run(ours())
