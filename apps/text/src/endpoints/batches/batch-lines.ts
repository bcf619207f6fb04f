import { GatewayError } from '@gateway/contracts/gateway-error';
import { linesIn } from '@gateway/model-service/batch/lines';
import { withoutMark } from '@gateway/service-kit/request/json-body';
import type { TextBatchService } from './batch-service.ts';

/** What a line has around its request. */
export const FRAME_BYTES = 4096;

export interface FileLine {
  /** From 0, of those that are not empty; it names the line's job. */
  readonly index: number;
  /** From 1, of all. */
  readonly number: number;
  readonly bytes: Buffer;
}

/**
 * The lines of a file, without the mark of UTF-8 that may stand before one.
 *
 * @throws {GatewayError} `object_not_found` for one that has gone, `request_too_large` for a line that is longer than what is taken
 */
export async function* linesOf(
  { files, services }: Pick<TextBatchService, 'files' | 'services'>,
  fileId: string,
  maxLineBytes = services.maxBodyBytes + FRAME_BYTES,
): AsyncGenerator<FileLine> {
  const file = await files.open(fileId);
  if (file === undefined)
    throw new GatewayError('object_not_found', `The file '${fileId}' no longer exists.`);
  let index = 0;
  for await (const { number, bytes } of linesIn(file.stream(), maxLineBytes)) {
    yield { index, number, bytes: withoutMark(bytes) };
    index += 1;
  }
}

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
