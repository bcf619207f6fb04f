import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { BatchContext } from '@gateway/model-service/batch/run-batch';
import { openCurrentBatches } from '@gateway/upstream/batches/open-current-batches';
import { batchIdOf } from '../../../batches/batch-id.ts';
import type { BatchRecord } from '../../../batches/batch-records.ts';
import type { LineJournal } from '../../../batches/line-journal.ts';
import { LineSet, type ProviderNote } from '../../../batches/provider-note.ts';
import { linesOf } from '../batch-lines.ts';
import type { TextBatches } from '../batch-service.ts';
import { LINE_ENDPOINTS } from '../text-lines.ts';
import { chooseProvider, hasProviders } from './choose-provider.ts';
import { collectResults, releaseLines } from './collect-results.ts';
import { type BatchAtProvider, doAtProvider } from './provider-batch.ts';

const CLAIM_RETRY_MS = 500;
const CLAIM_RENEWAL_MS = 20_000;

interface Run {
  readonly context: Pick<BatchContext, 'requestId' | 'signal'>;
  /** See `BatchAtProvider`. */
  readonly aside?: BatchAtProvider['aside'];
  /** See `BatchAtProvider`. */
  readonly isEnding: boolean;
}

/**
 * Has the lines of a batch done by their provider, where all of them lead to one that has batches. Resolves when nothing of them is there
 * any more: each line that has no outcome then is for the gateway itself.
 */
export async function runAtProvider(
  service: TextBatches,
  { batch: known, journal }: { readonly batch: BatchRecord; readonly journal: LineJournal },
  { context, isEnding, aside = (wait) => wait() }: Run,
): Promise<void> {
  if (known.provider?.step === 'over') return;
  if (known.provider === null && (isEnding || !hasProviders(service.services.upstream))) return;
  await claimed(service, known.id, context.signal, async (signal) => {
    // Another process may have gone on with it meanwhile.
    const batch = await service.records.find(known.id);
    if (batch === undefined || batch.end !== null) return;
    const note = batch.provider ?? (isEnding ? null : await firstNote(service, { batch, journal }, signal));
    if (note === null || note.step === 'over') return;
    const { services, records } = service;
    const { id: jobId, face, headers, endpoint: url, keyId, fileId, untilMs } = batch;
    const protocol = LINE_ENDPOINTS.get(url)?.passedTo;
    const label = batchIdOf(face, jobId);
    const { requestId } = context;
    const place = { services, journal, context: { jobId, requestId, signal }, url, headers, label };
    const lines = batch.lines ?? 0;
    const api = protocol && openCurrentBatches(services.upstream, note, protocol);
    if (!api) {
      // Nothing has been created yet: what was reserved goes back.
      if (note.step === 'preparing') await releaseLines(service, note, { jobId, lines });
      // Its channel is no longer configured: nobody can ask for it, and its lines may have been done.
      const sent = new LineSet(note.sent);
      const lost = { api: null, place: { ...place, note }, fileId, sent, state: null };
      await collectResults(service, lost);
      await records.noteProvider(jobId, { ...note, step: 'over' });
      return;
    }
    const isResumed = batch.provider !== null;
    try {
      const all = { api, note, keyId, fileId, lines, untilMs, place, isEnding, isResumed, aside };
      await doAtProvider(service, all);
    } finally {
      await api.close();
    }
  });
}

/** Notes where a batch goes; null where the gateway does it. */
async function firstNote(
  { services, files, records, readIdentity, now }: TextBatches,
  {
    batch: { id, keyId, fileId, endpoint: url },
    journal,
  }: { readonly batch: BatchRecord; readonly journal: LineJournal },
  signal: AbortSignal,
): Promise<ProviderNote | null> {
  // The gateway has begun with its lines, before a channel was told to have them done: it goes on with them.
  if (!journal.isEmpty) return null;
  const identity = await readIdentity(keyId);
  const endpoint = LINE_ENDPOINTS.get(url);
  if (identity === undefined || endpoint === undefined) return null;
  const lines = linesOf({ files, services }, fileId, { signal });
  const { upstream } = services;
  const chosen = await chooseProvider(lines, { upstream, endpoint, identity });
  if (chosen === null || chosen.channel.batches === null) return null;
  const note: ProviderNote = {
    step: 'preparing',
    round: 0,
    channel: chosen.channel.name,
    account: chosen.account.name,
    batches: chosen.channel.batches,
    identity: { ...identity, priority: 'low' },
    startedAtMs: now(),
    uploadId: null,
    batchId: null,
    sent: '',
    earlier: '',
    hasMore: false,
  };
  await records.noteProvider(id, note);
  return note;
}

/** One process at a time has to do with a provider's batch; another one goes on where that one dies. */
async function claimed(
  { records, onError }: Pick<TextBatches, 'records' | 'onError'>,
  id: string,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const name = `${id}:provider`;
  const by = randomUUID();
  while (!(await records.claim(name, by)))
    await delay(CLAIM_RETRY_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
  const lost = new AbortController();
  const renew = async () => {
    if (!(await records.claim(name, by))) lost.abort(new Error(`the claim on ${name} was lost`));
  };
  const renewal = setInterval(() => renew().catch(onError), CLAIM_RENEWAL_MS);
  try {
    await work(AbortSignal.any([signal, lost.signal]));
  } finally {
    clearInterval(renewal);
    await records.release(name, by);
  }
}
