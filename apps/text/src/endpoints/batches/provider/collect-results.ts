import { GatewayError } from '@gateway/contracts/gateway-error';
import { lineJobId } from '@gateway/jobs/redis/job-keys';
import type { ByteLoan } from '@gateway/jobs/worker/byte-budget';
import { linesIn } from '@gateway/model-service/batch/lines';
import { patiently } from '@gateway/model-service/batch/patiently';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { withoutMark } from '@gateway/service-kit/request/json-body';
import type { BatchApi, BatchResult, BatchState } from '@gateway/upstream/batches/batch-api';
import { LineSet, type ProviderNote } from '../../../batches/provider-note.ts';
import { inOrder, linesOf } from '../batch-lines.ts';
import type { TextBatches } from '../batch-service.ts';
import { endLine, releaseReservation } from '../end-line.ts';
import { holdResult, type ResultMemory } from '../result-memory.ts';
import { memberIn } from '../text-lines.ts';
import { type BilledLine, billedLine, type LinePlace } from './provider-line.ts';
import { isGood, putDown, putDownUnknown } from './put-down.ts';

const AT_ONCE = 16;
/** A line of results: an answer of 64 MiB with what is around it. */
const MAX_RESULT_BYTES = 68 * 1024 * 1024;

/** What became of the lines of a provider's batch. */
export interface CollectedResults {
  readonly answered: number;
  /** Not run, and left to the gateway. */
  readonly left: number;
  /** Of which the provider did not tell what became of them. */
  readonly missing: number;
  /** Results of lines that were not sent, or not in one piece, and further ones of the same line. */
  readonly strange: number;
}

interface ResultsToCollect {
  /** Null: it cannot be asked any more. */
  readonly api: BatchApi | null;
  readonly place: LinePlace;
  readonly fileId: string;
  readonly sent: LineSet;
  /** Null: the batch has been lost. */
  readonly state: BatchState | null;
}

/**
 * Puts down the results of a provider's batch as they come, in whatever order, as the outcomes of their lines. What it did not run is
 * released. Doing it again changes nothing.
 *
 * @throws {BatchCallFailed} where they cannot be read to their end
 */
export async function collectResults(
  service: TextBatches,
  { api, place, fileId, sent, state }: ResultsToCollect,
): Promise<CollectedResults> {
  const { journal } = place;
  const { signal, jobId } = place.context;
  const places = await linePlaces(service, fileId, { jobId, signal });
  const seen = new LineSet();
  let answered = 0;
  let left = 0;
  let strange = 0;

  const bytesAt = async (index: number): Promise<Buffer> => {
    const { offset, sizeBytes } = places.at(index);
    try {
      const file = await service.files.open(fileId, { start: offset, end: offset + sizeBytes - 1 });
      if (file === undefined) throw new GatewayError('object_not_found', 'The file of the batch is gone.');
      return withoutMark(await file.bytes());
    } catch (cause) {
      if (cause instanceof GatewayError) throw cause;
      // It lies there still, and its answer has been paid for.
      throw new GatewayError('service_unavailable', { message: 'A line cannot be read now.', cause });
    }
  };
  /** A line whose model is no longer configured fails; what is reserved for it is charged when that ends, if it was answered. */
  const withLine = async (
    index: number,
    put: (line: BilledLine) => Promise<boolean>,
    isFree = false,
  ): Promise<boolean> => {
    const billed = async () => billedLine(place, { index, bytes: await bytesAt(index) });
    const line = await patiently(signal, billed).catch((error: unknown) => toGatewayError(error));
    signal.throwIfAborted();
    if (!(line instanceof GatewayError)) return patiently(signal, () => put(line));
    await endLine(service, journal, index, { ending: { type: 'errored', error: line }, settlement: null });
    if (isFree) await releaseLine(service, place, lineJobId(jobId, index));
    return true;
  };
  const leave = async (id: string) => {
    left += 1;
    await releaseLine(service, place, id);
  };
  const take = async ({ result, loan }: HeldResult) => {
    using _held = loan;
    const index = result === null ? undefined : places.indexOf(result.id);
    if (result === null || index === undefined || !sent.has(index) || !seen.add(index)) {
      strange += 1;
      return;
    }
    if (journal.end(index) !== undefined) answered += 1;
    else if (result.type !== 'answered') await leave(result.id);
    else {
      const isFree = !isGood(result);
      const isDone = await withLine(index, (line) => putDown(service, place, line, result), isFree);
      if (isDone) answered += 1;
      else await leave(result.id);
    }
  };

  const files =
    api === null || state === null
      ? []
      : state.results.map((file) => resultsIn(api, file, { memory: service.memory, signal }));
  for (const results of files) for await (const _ of inOrder(results, AT_ONCE, take)) signal.throwIfAborted();

  let missing = 0;
  for (const index of sent) {
    if (seen.has(index)) continue;
    const id = lineJobId(jobId, index);
    if (journal.end(index) !== undefined) answered += 1;
    else if (state !== null && !state.tellsAll) await leave(id);
    else {
      missing += 1;
      await withLine(index, (line) => putDownUnknown(service, place, line));
    }
  }
  return { answered, left, missing, strange };
}

/** A result that is held in memory, until who takes it disposes of the loan. */
interface HeldResult {
  /** Null: it is none. */
  readonly result: BatchResult | null;
  readonly loan: ByteLoan;
}

async function* resultsIn(
  api: BatchApi,
  place: string,
  { memory, signal }: { readonly memory: ResultMemory; readonly signal: AbortSignal },
): AsyncGenerator<HeldResult> {
  const hold = () => memory.largeLines.take(MAX_RESULT_BYTES, signal);
  const bytesOf = withLinesCut(api.results(place, signal), MAX_RESULT_BYTES, hold);
  const read = (bytes: Buffer) => {
    try {
      return api.readResult(bytes, memberIn);
    } catch {
      return null;
    }
  };
  for await (const { bytes } of linesIn(bytesOf, MAX_RESULT_BYTES)) {
    const loan = await holdResult(memory, bytes.length, signal);
    yield { result: read(bytes), loan };
  }
}

const LINE_FEED = 0x0a;

/** Of a line whose reading has to be let in. */
const LARGE_BYTES = 1024 * 1024;

/**
 * The same with no more than so much of each line: what is longer is no result, and those after it are.
 *
 * @param hold called before more is read of a large line; what it resolves to is disposed of when the line has been taken
 */
export async function* withLinesCut(
  chunks: AsyncIterable<Buffer>,
  maxBytes: number,
  hold?: () => Promise<Disposable>,
): AsyncGenerator<Buffer> {
  let lineBytes = 0;
  let held: Disposable | undefined;
  const letGo = () => {
    held?.[Symbol.dispose]();
    held = undefined;
  };
  try {
    for await (const chunk of chunks) {
      let from = 0;
      for (let next = 0; next < chunk.length; from = next) {
        const end = chunk.indexOf(LINE_FEED, from);
        next = end < 0 ? chunk.length : end + 1;
        const kept = Math.min((end < 0 ? next : end) - from, maxBytes - lineBytes);
        if (lineBytes + kept > LARGE_BYTES) held ??= await hold?.();
        if (kept > 0) yield chunk.subarray(from, from + kept);
        if (end >= 0) {
          yield chunk.subarray(end, next);
          letGo();
        }
        lineBytes = end < 0 ? lineBytes + kept : 0;
      }
    }
  } finally {
    letGo();
  }
}

/** Gives back what is reserved for the lines that a note tells of, of so many that the batch has. */
export async function releaseLines(
  service: Pick<TextBatches, 'meter' | 'now'>,
  note: ProviderNote,
  { jobId, lines }: { readonly jobId: string; readonly lines: number },
): Promise<void> {
  const sent = new LineSet(note.sent);
  // Who was interrupted while it prepared them has not noted which it has come to.
  const all = sent.size > 0 ? sent : Array.from({ length: lines }, (_, index) => index);
  for (const index of all) await releaseLine(service, { note }, lineJobId(jobId, index));
}

/** Gives back what is reserved for a line that its provider does not run. */
export const releaseLine = (
  service: Pick<TextBatches, 'meter' | 'now'>,
  { note: { identity } }: Pick<LinePlace, 'note'>,
  id: string,
): Promise<void> => releaseReservation(service, { keyId: identity.keyId, id });

interface LinePlaces {
  at(index: number): { readonly offset: number; readonly sizeBytes: number };
  indexOf(lineId: string): number | undefined;
}

/** Where the lines of a file lie, so that the one that a result belongs to is read alone. */
async function linePlaces(
  service: TextBatches,
  fileId: string,
  { jobId, signal }: { readonly jobId: string; readonly signal: AbortSignal },
): Promise<LinePlaces> {
  const offsets: number[] = [];
  const sizes: number[] = [];
  const indexes = new Map<string, number>();
  const every = { maxLineBytes: Number.POSITIVE_INFINITY, signal };
  for await (const { index, offset, sizeBytes } of linesOf(service, fileId, every)) {
    offsets.push(offset);
    sizes.push(sizeBytes);
    indexes.set(lineJobId(jobId, index), index);
  }
  return {
    at: (index) => ({ offset: offsets[index] ?? 0, sizeBytes: sizes[index] ?? 0 }),
    indexOf: (lineId) => indexes.get(lineId),
  };
}
