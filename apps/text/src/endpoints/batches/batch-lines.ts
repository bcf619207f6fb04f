import { GatewayError } from '@gateway/contracts/gateway-error';
import { linesIn } from '@gateway/model-service/batch/lines';
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

/** The lines of a file. @throws {GatewayError} `object_not_found` for one that has gone, `request_too_large` for a long line */
export async function* linesOf(
  { files, services }: Pick<TextBatchService, 'files' | 'services'>,
  fileId: string,
): AsyncGenerator<FileLine> {
  const file = await files.open(fileId);
  if (file === undefined)
    throw new GatewayError('object_not_found', `The file '${fileId}' no longer exists.`);
  let index = 0;
  for await (const line of linesIn(file.stream(), services.maxBodyBytes + FRAME_BYTES)) {
    yield { index, ...line };
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
