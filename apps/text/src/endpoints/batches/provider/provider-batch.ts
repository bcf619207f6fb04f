import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { lineJobId } from '@gateway/jobs/redis/job-keys';
import {
  type BatchApi,
  BatchCallFailed,
  type BatchState,
  type FoundBatch,
} from '@gateway/upstream/batches/batch-api';
import { LineSet, type ProviderNote } from '../../../batches/provider-note.ts';
import type { TextBatchService } from '../batch-service.ts';
import { ENDING_MS } from '../create-batch.ts';
import { type CollectedResults, collectResults, releaseLine } from './collect-results.ts';
import type { LinePlace } from './provider-line.ts';
import { NotForProvider, prepareLines } from './send-lines.ts';

const FIRST_WAIT_MS = 1000;
const WAIT_GROWTH = 1.5;
const MAX_WAIT_MS = 60_000;
/** The longest that a provider may have us wait before we look again. */
const MAX_RETRY_AFTER_MS = 10 * 60_000;
const TRIES = 3;
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
}

/** What a provider did of a batch, for the log and the metrics. */
export interface ProviderReport extends Partial<CollectedResults> {
  readonly jobId: string;
  readonly channel: string;
  readonly account: string;
  readonly round: number;
  readonly lines: number;
  /** `refused`: it did not take it, and the gateway does the lines; `lost`: nobody knows what became of them. */
  readonly outcome: 'done' | 'refused' | 'lost';
  readonly providerBatchId: string | null;
  readonly reason: string | null;
}

/** Has a provider do a batch, from whatever step another process has come to. Who calls it has the claim on that. */
export async function doAtProvider(service: TextBatchService, batch: BatchAtProvider): Promise<void> {
  const { api, keyId, fileId, untilMs, isEnding } = batch;
  const { records, uploads, queue, now, onError, onProviderBatch } = service;
  const { jobId, signal } = batch.place.context;
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
    const sent = new LineSet(note.sent);
    // Who was interrupted while it prepared them has not noted which it has come to.
    const all = sent.size > 0 ? sent : Array.from({ length: batch.lines }, (_, index) => index);
    for (const index of all) await releaseLine(service, place(), lineJobId(jobId, index));
    await leisurely(api.dropUpload(nameOf(), signal));
    if (reason !== null) report('refused', { reason });
    await keep({ step: 'over' });
  };

  const send = async (): Promise<void> => {
    if (batch.isResumed) await leisurely(api.dropUpload(nameOf(), signal));
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
    for (;;) {
      const found = await api.find(asked, signal).catch((error: unknown): FoundBatch => {
        signal.throwIfAborted();
        onError(error);
        return 'undecided';
      });
      if (typeof found === 'object') {
        await keep({ step: 'created', batchId: found.id });
        return true;
      }
      absent = found === 'none' ? absent + 1 : 0;
      if (absent === TRIES) return false;
      if (now() > untilMs + ENDING_MS / 2) {
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
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof BatchCallFailed)) throw error;
        gone = error.isGone ? gone + 1 : 0;
        if (gone === TRIES || now() > untilMs + ENDING_MS / 2) return null;
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
    await queue.keepCounts(jobId, { total: batch.lines, completed, failed });
  };

  const collect = async (state: BatchState | null): Promise<void> => {
    const sent = new LineSet(note.sent);
    const collected = await tried(
      () => collectResults(service, { api, place: place(), keyId, fileId, sent, state }),
      signal,
    ).catch((cause: unknown) => {
      signal.throwIfAborted();
      if (!(cause instanceof BatchCallFailed)) throw cause;
      // They lie there still: whoever goes on with the batch reads them.
      throw new GatewayError('service_unavailable', { message: 'The results cannot be read now.', cause });
    });
    report(state === null ? 'lost' : 'done', { ...collected, reason: state?.problem ?? null });
    for (const leftover of state?.leftovers ?? []) await leisurely(api.remove(leftover, signal));
    const { earlier: before, round, hasMore } = note;
    const earlier = new LineSet(before);
    for (const index of sent) earlier.add(index);
    const isNext = hasMore && !isEnding && state !== null && round + 1 < MAX_ROUNDS && now() < untilMs;
    const next = { round: round + 1, uploadId: null, batchId: null, sent: '', earlier: String(earlier) };
    await keep(isNext ? { step: 'preparing', ...next } : { step: 'over' });
  };

  while (note.step !== 'over') {
    signal.throwIfAborted();
    if (note.step === 'preparing') await (isEnding ? giveUp(null) : send());
    else if (note.step === 'creating') {
      if (await isCreated()) continue;
      if (isEnding) await giveUp(null);
      else if (note.uploadId !== null) await create(null);
      else await keep({ step: 'preparing', sent: '' });
    } else await collect(note.batchId === null ? null : await follow(note.batchId));
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
