import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage } from '@gateway/contracts/error-message';
import { lineJobId } from '@gateway/jobs/redis/job-keys';
import type { JobContext } from '@gateway/jobs/worker/job-processor';
import { patiently } from '@gateway/model-service/batch/patiently';
import { type BatchApi, BatchCallFailed, type BatchState } from '@gateway/upstream/batches/batch-api';
import { LineSet, type ProviderNote } from '../../../batches/provider-note.ts';
import type { TextBatches } from '../batch-service.ts';
import { ENDING_MS } from '../create-batch.ts';
import { type CollectedResults, collectResults, releaseLines } from './collect-results.ts';
import type { LinePlace } from './provider-line.ts';
import { NotForProvider, prepareLines } from './send-lines.ts';

const FIRST_WAIT_MS = 1000;
const WAIT_GROWTH = 1.5;
const MAX_WAIT_MS = 60_000;
/** The longest that a provider may have us wait before we look again. */
const MAX_RETRY_AFTER_MS = 10 * 60_000;
const TRIES = 3;
/** A request that nobody waits for any more may still be carried out: what is not there for so long never will be. */
const ABSENT_MS = 60_000;
/** Lines that a budget does not cover in so many batches of the provider's are the gateway's own. */
const MAX_ROUNDS = 8;

export interface BatchAtProvider {
  readonly api: BatchApi;
  readonly note: ProviderNote;
  readonly keyId: string;
  readonly fileId: string;
  readonly lines: number;
  readonly untilMs: number;
  readonly place: Omit<LinePlace, 'note'>;
  /** It was cancelled, or is over: nothing more is begun, and what runs is stopped. */
  readonly isEnding: boolean;
  /** Another process may have begun with it. */
  readonly isResumed: boolean;
  /** What its provider is waited for in: see `JobContext`. */
  readonly aside: JobContext['aside'];
}

/** What a provider did of a batch, for the log and the metrics. */
export interface ProviderReport extends Partial<CollectedResults> {
  readonly jobId: string;
  readonly channel: string;
  readonly account: string;
  readonly round: number;
  readonly lines: number;
  /**
   * `refused`: it did not take it, and the gateway does the lines; `lost`: nobody knows what became of them; `undecided`: it does not
   * say whether it has the batch, and is asked until the batch expires.
   */
  readonly outcome: 'done' | 'refused' | 'lost' | 'undecided';
  readonly providerBatchId: string | null;
  readonly reason: string | null;
}

/** Has a provider do a batch, from whatever step another process has come to. Who calls it has the claim on that. */
export async function doAtProvider(service: TextBatches, batch: BatchAtProvider): Promise<void> {
  const { api, keyId, fileId, untilMs, isEnding } = batch;
  const { records, uploads, progress, now, onError, onProviderBatch } = service;
  const { jobId, signal } = batch.place.context;
  /** Then what is not known of it never will be. */
  const giveUpMs = untilMs + ENDING_MS / 2;
  let note = batch.note;
  const place = (): LinePlace => ({ ...batch.place, note });
  const keep = async (change: Partial<ProviderNote>) => {
    note = { ...note, ...change };
    await records.noteProvider(jobId, note);
  };
  const nameOf = () => `${jobId}.${note.round}`;
  const report = (outcome: ProviderReport['outcome'], more: Partial<ProviderReport> = {}) => {
    const { channel, account, round, batchId } = note;
    const lines = new LineSet(note.sent).size;
    const about = { jobId, channel, account, round, lines, providerBatchId: batchId, reason: null };
    onProviderBatch({ ...about, outcome, ...more });
  };
  const leisurely = (work: Promise<unknown>) =>
    work.catch((error: unknown) => {
      signal.throwIfAborted();
      onError(error);
    });

  /** Nothing of it is at the provider, or will be: what is reserved goes back, and the gateway does the lines. */
  const giveUp = async (reason: string | null) => {
    await releaseLines(service, note, { jobId, lines: batch.lines });
    await leisurely(api.dropUpload(nameOf(), signal));
    if (reason !== null) report('refused', { reason });
    await keep({ step: 'over' });
  };

  const send = async (): Promise<void> => {
    if (batch.isResumed) await leisurely(api.dropUpload(nameOf(), signal));
    // A key may have been revoked since its batch began, and its budget is what it is now.
    const identity = await patiently(signal, () => service.readIdentity(keyId));
    if (identity === undefined) return await giveUp('the key of the batch no longer works');
    const { channels } = batch.place.services.upstream.configuration;
    if (!channels.get(note.channel)?.batches) return await giveUp('the channel no longer does batches');
    note = { ...note, identity: { ...identity, priority: 'low' } };
    const uploadId = uploads.newId();
    try {
      const earlier = new LineSet(note.earlier);
      const prepared = await prepareLines(service, {
        ...{ api, place: place(), fileId, untilMs, earlier, uploadId },
        name: nameOf(),
      });
      const { file, hasMore } = prepared;
      if (prepared.sent.size === 0) return await keep({ step: 'over' });
      const sent = String(prepared.sent);
      note = { ...note, sent, hasMore };
      const providerFile = await tried(() => api.upload(file, signal), signal);
      await keep({ step: 'creating', uploadId: providerFile });
      await create(file);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof NotForProvider) return await giveUp(error.message);
      if (error instanceof BatchCallFailed && note.step === 'preparing') return await giveUp(error.message);
      throw error;
    } finally {
      await uploads.delete(uploadId);
    }
  };

  const create = async (file: Parameters<BatchApi['create']>[0]['file']): Promise<void> => {
    const { url, headers } = batch.place;
    try {
      const batchId = await api.create(
        { name: nameOf(), url, uploadId: note.uploadId, file, headers },
        signal,
      );
      await keep({ step: 'created', batchId });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof BatchCallFailed)) throw error;
      if (error.isRefusal) return await giveUp(error.message);
      if (!(await isCreated())) await giveUp(error.message);
    }
  };

  /** Looks for it. False: it has certainly not been created. */
  const isCreated = async (): Promise<boolean> => {
    const sent = new LineSet(note.sent);
    const ids = new Set([...sent].map((index) => lineJobId(jobId, index)));
    const asked = {
      name: nameOf(),
      lines: sent.size,
      sinceMs: note.startedAtMs,
      isOurs: (id: string) => ids.has(id),
    };
    const waits = new Waits(signal);
    let absent = 0;
    let absentSinceMs = 0;
    let unanswered = 0;
    for (;;) {
      const found = await api.find(asked, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        onError(error);
        unanswered += 1;
        // A server without a list of batches never says it: somebody should know of that before the batch expires.
        if (unanswered === TRIES) report('undecided', { reason: errorMessage(error) });
        return null;
      });
      if (found !== null) unanswered = 0;
      if (typeof found === 'object' && found !== null) {
        await keep({ step: 'created', batchId: found.id });
        return true;
      }
      absent = found === 'none' ? absent + 1 : 0;
      if (absent === 1) absentSinceMs = now();
      if (absent >= TRIES && now() >= absentSinceMs + ABSENT_MS) return false;
      // One that is at work there may still end; of one that nobody can ask for, nothing more will be known.
      const isHopeless = found === null && (now() > untilMs || (isEnding && unanswered >= TRIES));
      if (isHopeless || now() > giveUpMs) {
        await collect(null);
        return true;
      }
      await waits.next();
    }
  };

  /** Follows it to its end; null where it is lost. */
  const follow = async (id: string): Promise<BatchState | null> => {
    const waits = new Waits(signal);
    let gone = 0;
    let isCancelled = false;
    for (;;) {
      let retryAfterSeconds: number | null = null;
      try {
        if (!isCancelled && (isEnding || now() >= untilMs)) {
          isCancelled = true;
          // One that has just ended cannot be cancelled.
          await leisurely(api.cancel(id, signal));
        }
        const state = await api.look(id, signal);
        gone = 0;
        if (state.counts !== undefined) await keepCounts(state);
        if (state.isOver) return state;
        if (now() > giveUpMs) return null;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof BatchCallFailed)) throw error;
        gone = error.isGone ? gone + 1 : 0;
        if (gone === TRIES || now() > giveUpMs) return null;
        ({ retryAfterSeconds } = error);
        onError(error);
      }
      await waits.next(retryAfterSeconds);
    }
  };

  /** What the provider has done until now, for those who look at the batch. */
  const keepCounts = async ({ counts }: BatchState) => {
    if (counts === undefined || note.round > 0) return;
    const { completed, failed } = counts;
    await progress.keepCounts(jobId, { total: batch.lines, completed, failed });
  };

  /** Puts its results down; null for the state of one whose results nobody can read any more. */
  const readResults = async (state: BatchState | null) => {
    const sent = new LineSet(note.sent);
    const results = { api, place: place(), fileId, sent };
    const waits = new Waits(signal);
    let gone = 0;
    for (;;) {
      try {
        return { state, collected: await collectResults(service, { ...results, state }) };
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof BatchCallFailed)) throw error;
        onError(error);
        gone = error.isGone ? gone + 1 : 0;
        if (gone === TRIES || now() > giveUpMs)
          return { state: null, collected: await collectResults(service, { ...results, state: null }) };
        await waits.next(error.retryAfterSeconds);
      }
    }
  };

  const collect = async (ended: BatchState | null): Promise<void> => {
    const { state, collected } = await readResults(ended);
    report(state === null ? 'lost' : 'done', { ...collected, reason: state?.problem ?? null });
    const { sent, earlier: before, round, hasMore } = note;
    const earlier = new LineSet(before);
    for (const index of new LineSet(sent)) earlier.add(index);
    const isNext = hasMore && !isEnding && state !== null && round + 1 < MAX_ROUNDS && now() < untilMs;
    const next = { round: round + 1, uploadId: null, batchId: null, sent: '', earlier: String(earlier) };
    // Before anything is deleted there: who came back to it would take what it had read already for lost.
    await keep(isNext ? { step: 'preparing', ...next } : { step: 'over' });
    for (const leftover of ended?.leftovers ?? []) await leisurely(api.remove(leftover, signal));
  };

  while (note.step !== 'over') {
    signal.throwIfAborted();
    if (note.step === 'preparing') await (isEnding ? giveUp(null) : send());
    else if (note.step === 'creating') {
      if (await isCreated()) continue;
      if (isEnding) await giveUp(null);
      else if (note.uploadId !== null) await create(null);
      else await keep({ step: 'preparing', sent: '' });
    } else {
      const { batchId } = note;
      await collect(batchId === null ? null : await batch.aside(() => follow(batchId)));
    }
  }
}

/** Waits that grow. */
class Waits {
  readonly #signal: AbortSignal;
  #ms = FIRST_WAIT_MS;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  async next(retryAfterSeconds: number | null = null): Promise<void> {
    const asked = Math.min(MAX_RETRY_AFTER_MS, (retryAfterSeconds ?? 0) * 1000);
    const ms = Math.max(this.#ms, asked);
    this.#ms = Math.min(MAX_WAIT_MS, this.#ms * WAIT_GROWTH);
    await delay(ms, undefined, { signal: this.#signal }).catch(() => this.#signal.throwIfAborted());
  }
}

/** Tries again what a provider did not answer, or not to the end. */
async function tried<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
  const waits = new Waits(signal);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof BatchCallFailed) || error.isRefusal || attempt === TRIES) throw error;
      await waits.next(error.retryAfterSeconds);
    }
  }
}
