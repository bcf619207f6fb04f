import { GatewayError } from '@gateway/contracts/gateway-error';

const LINE_FEED = 0x0a;

/** Lines that are not empty, with their numbers from 1 and where they begin in bytes, as they come. @throws {GatewayError} `request_too_large` for a long one */
export async function* linesIn(
  chunks: AsyncIterable<Buffer>,
  maxBytes: number,
): AsyncGenerator<{ readonly number: number; readonly offset: number; readonly bytes: Buffer }> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  let number = 0;
  let next = 0;
  const lineOf = (end: Buffer) => {
    const bytes = rest.length === 0 ? end : Buffer.concat([...rest, end]);
    rest = [];
    restBytes = 0;
    number += 1;
    if (bytes.length > maxBytes) throw tooLong(number, maxBytes);
    const offset = next;
    next += bytes.length + 1;
    return { number, offset, bytes };
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
      const line = lineOf(chunk.subarray(from, at));
      from = at + 1;
      if (!isBlank(line.bytes)) yield line;
    }
    if (from === chunk.length) continue;
    restBytes += chunk.length - from;
    if (restBytes > maxBytes) throw tooLong(number + 1, maxBytes);
    rest.push(chunk.subarray(from));
  }
  if (restBytes === 0) return;
  const line = lineOf(Buffer.alloc(0));
  if (!isBlank(line.bytes)) yield line;
}

const isBlank = (bytes: Buffer): boolean => bytes.toString('latin1').trim() === '';

const tooLong = (number: number, maxBytes: number): GatewayError =>
  new GatewayError(
    'request_too_large',
    `Line ${number} is longer than the ${maxBytes} bytes that a line may have.`,
  );
