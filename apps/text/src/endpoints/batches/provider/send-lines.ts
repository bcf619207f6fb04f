import { stat } from 'node:fs/promises';
import { writeWhole } from '@gateway/assets/write-whole';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import { lineJobId } from '@gateway/jobs/redis/job-keys';
import { patiently } from '@gateway/model-service/batch/patiently';
import type { BatchApi, BatchFile } from '@gateway/upstream/batches/batch-api';
import { LineSet } from '../../../batches/provider-note.ts';
import { type FileLine, inOrder, linesOf } from '../batch-lines.ts';
import type { TextBatches } from '../batch-service.ts';
import { ENDING_MS } from '../create-batch.ts';
import { endLine } from '../end-line.ts';
import { releaseLine } from './collect-results.ts';
import { type LinePlace, type ProviderLine, providerLine } from './provider-line.ts';

const AT_ONCE = 16;

/** Lines that were written into a file for the provider, each with its most reserved. */
export interface PreparedLines {
  readonly file: BatchFile;
  readonly sent: LineSet;
  /** Whether some were left: a budget, or what the provider takes at a time, does not cover them now. */
  readonly hasMore: boolean;
}

interface LinesToPrepare {
  readonly api: BatchApi;
  readonly place: LinePlace;
  readonly fileId: string;
  readonly untilMs: number;
  /** Of earlier rounds. */
  readonly earlier: LineSet;
  readonly name: string;
  /** Where the file is written: under an id of the uploads of this machine. */
  readonly uploadId: string;
}

/** A line that its provider cannot do alone: then it does none of the batch. */
export class NotForProvider extends Error {
  override readonly name = 'NotForProvider';
}

/**
 * Reserves the most that lines can cost and writes them into a file, until one is not covered. Lines that their endpoint refuses have
 * ended then.
 *
 * @throws {NotForProvider}
 */
export async function prepareLines(
  service: TextBatches,
  { api, place, fileId, untilMs, earlier, name, uploadId }: LinesToPrepare,
): Promise<PreparedLines> {
  const { uploads, now } = service;
  const { context, note, journal } = place;
  const { signal } = context;
  const { head, between, tail } = api.frame;
  const sent = new LineSet();
  let hasMore = false;
  let sizeBytes = head.length + tail.length;
  let inputs = 0;
  const lines = async function* () {
    for await (const line of linesOf(service, fileId, { signal }))
      if (!earlier.has(line.index) && journal.end(line.index) === undefined) yield line;
  };
  const prepare = async (line: FileLine) => {
    try {
      return { line, prepared: await patiently(signal, () => providerLine(place, line)) };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return { line, prepared: error };
    }
  };
  const reserve = ({ subject, estimate, mostMicroUsd }: ProviderLine) =>
    patiently(signal, () =>
      service.meter.begin({
        subject,
        accounts: budgetsOf(note.identity),
        estimate,
        mostMicroUsd,
        leaseMs: untilMs - now() + ENDING_MS,
      }),
    );
  /** Null: it is not in this round. */
  const textOf = async (line: FileLine, prepared: ProviderLine | GatewayError | null) => {
    if (prepared === null) throw new NotForProvider(`line ${line.number} is not for its provider alone`);
    if (prepared instanceof GatewayError) {
      const ending = { type: 'errored', error: prepared } as const;
      await endLine(service, journal, line.index, { ending, settlement: null });
      // Who was interrupted had reserved it, where it was not refused then.
      await releaseLine(service, place, lineJobId(context.jobId, line.index));
      return null;
    }
    const text = api.line({ id: prepared.id, url: place.url, body: prepared.body });
    const bytes = Buffer.byteLength(text) + between.length;
    hasMore =
      sent.size === api.maxLines ||
      sizeBytes + bytes > api.maxBytes ||
      (inputs > 0 && inputs + prepared.inputs > api.maxInputs);
    if (hasMore) return null;
    try {
      await reserve(prepared);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      // The next round, or the gateway itself, takes it when those that are at work have been billed.
      if (error.code === 'budget_exhausted') hasMore = true;
      // Whatever else refuses it, the gateway finds that out too.
      return null;
    }
    sizeBytes += bytes;
    inputs += prepared.inputs;
    sent.add(line.index);
    return sent.size === 1 ? text : between + text;
  };
  const chunks = async function* () {
    yield Buffer.from(head);
    for await (const { line, prepared } of inOrder(lines(), AT_ONCE, prepare)) {
      signal.throwIfAborted();
      const text = await textOf(line, prepared);
      if (text !== null) yield Buffer.from(text);
      if (hasMore) break;
    }
    yield Buffer.from(tail);
  };
  const path = uploads.pathOf(uploadId);
  await writeWhole(path, chunks());
  return { file: { name, path, sizeBytes: (await stat(path)).size }, sent, hasMore };
}

/** Limits per minute are for those who wait for answers: lines at a provider take nothing that others could have in this minute. */
const budgetsOf = ({ accounts }: Identity) => accounts.map((account) => ({ ...account, limits: {} }));
