import { crc32 } from 'node:zlib';

const STRING = 7;

/** One message of an AWS event stream, by AWS' description of its bytes and without AWS' packages. */
export function eventMessage(headers: Readonly<Record<string, string>>, payload: string | Buffer): Buffer {
  const head = Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [
      Buffer.from([Buffer.byteLength(name)]),
      Buffer.from(name),
      Buffer.from([STRING]),
      sixteenBits(Buffer.byteLength(value)),
      Buffer.from(value),
    ]),
  );
  const body = Buffer.from(payload);
  const lengths = Buffer.concat([thirtyTwoBits(head.length + body.length + 16), thirtyTwoBits(head.length)]);
  const message = Buffer.concat([lengths, thirtyTwoBits(crc32(lengths)), head, body]);
  return Buffer.concat([message, thirtyTwoBits(crc32(message))]);
}

/** An event whose payload is JSON. */
export const eventOf = (name: string, payload: object): Buffer =>
  eventMessage(
    { ':event-type': name, ':content-type': 'application/json', ':message-type': 'event' },
    JSON.stringify(payload),
  );

/** An exception that the service describes, in the middle of a stream: `throttlingException`. */
export const exceptionOf = (name: string, payload: object): Buffer =>
  eventMessage(
    { ':exception-type': name, ':content-type': 'application/json', ':message-type': 'exception' },
    JSON.stringify(payload),
  );

const PADDING = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

/** What hides the length of an event from those who watch the network. */
export const paddingOf = (count: number): string => PADDING.slice(0, 1 + ((count * 7) % PADDING.length));

function sixteenBits(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function thirtyTwoBits(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
