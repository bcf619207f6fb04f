import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { linesIn } from '@gateway/model-service/batch/lines';
import { withoutMark } from '@gateway/service-kit/request/json-body';
import type { StoredFiles } from '../../batches/stored-files.ts';
import type { TextServices } from '../../call/request/text-call.ts';

/** What a line has around its request. */
export const FRAME_BYTES = 4096;

export interface FileLine {
  /** From 0, of those that are not empty; it names the line's job. */
  readonly index: number;
  /** From 1, of all. */
  readonly number: number;
  /** Where it begins in the file, and how many bytes it has there. */
  readonly offset: number;
  readonly sizeBytes: number;
  readonly bytes: Buffer;
}

interface LinesOptions {
  /** Default: what the request of a line may have, with what it has around it. */
  readonly maxLineBytes?: number;
  readonly signal: AbortSignal;
}

interface LineSource {
  readonly files: Pick<StoredFiles, 'open'>;
  readonly services: Pick<TextServices, 'maxBodyBytes'>;
}

/**
 * The lines of a file, without the mark of UTF-8 that may stand before one.
 *
 * @throws {GatewayError} `object_not_found` for one that has gone, `request_too_large` for a line that is longer than what is taken,
 * `service_unavailable` where the store has been away for long
 */
export async function* linesOf(
  { files, services }: LineSource,
  fileId: string,
  { maxLineBytes = services.maxBodyBytes + FRAME_BYTES, signal }: LinesOptions,
): AsyncGenerator<FileLine> {
  let index = 0;
  for await (const { number, offset, bytes } of linesIn(bytesOf(files, fileId, signal), maxLineBytes)) {
    yield { index, number, offset, sizeBytes: bytes.length, bytes: withoutMark(bytes) };
    index += 1;
  }
}

/** Times that a file is opened again without having got any further, in some seven minutes. */
const MAX_FAILURES = 15;
const MAX_DELAY_MS = 60_000;

/** A file's bytes, read for as long as its batch runs: a store ends a connection from which nothing is taken for minutes. */
async function* bytesOf(
  files: Pick<StoredFiles, 'open'>,
  fileId: string,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  let start = 0;
  let end: number | undefined;
  let failures = 0;
  while (end === undefined || start <= end) {
    try {
      const file = await files.open(fileId, end === undefined ? undefined : { start, end });
      if (file === undefined)
        throw new GatewayError('object_not_found', `The file '${fileId}' no longer exists.`);
      end = file.sizeBytes - 1;
      for await (const chunk of file.stream()) {
        start += chunk.length;
        failures = 0;
        yield chunk;
      }
      if (start <= end) throw new Error('the store sent less than there is');
    } catch (cause) {
      if (cause instanceof GatewayError && cause.code !== 'service_unavailable') throw cause;
      failures += 1;
      if (failures === MAX_FAILURES) throw cannotBeRead(cause);
      const ms = Math.min(MAX_DELAY_MS, 100 * 2 ** failures);
      await delay(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

const cannotBeRead = (cause: unknown): GatewayError =>
  new GatewayError('service_unavailable', { message: 'The file of the batch cannot be read.', cause });

/** Works on several at a time, and answers in their order. */
export async function* inOrder<One, Result>(
  source: AsyncIterable<One>,
  atOnce: number,
  work: (one: One) => Promise<Result>,
): AsyncGenerator<Result> {
  const begun: Promise<Result>[] = [];
  for await (const one of source) {
    const result = work(one);
    // It is thrown where its turn has come.
    result.catch(() => undefined);
    begun.push(result);
    const [first] = begun;
    if (begun.length < atOnce || first === undefined) continue;
    yield await first;
    begun.shift();
  }
  for (const result of begun) yield await result;
}
