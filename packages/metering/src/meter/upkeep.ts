import type { Ledger } from '../ledger/ledger.ts';
import type { SpooledUsage, UsageSpool } from './usage-spool.ts';

export interface UpkeepOptions {
  readonly ledger: Pick<Ledger, 'renew' | 'settleAbandoned'>;
  readonly spool: Pick<UsageSpool, 'replay'>;
  /** The reservations of requests that this process runs. */
  readonly openIds: () => readonly string[];
  readonly leaseMs: number;
  /** Releases what may have been reserved without this process knowing. */
  readonly release: () => Promise<void>;
  readonly settle: (usage: SpooledUsage) => Promise<void>;
  /** Runs an action, reports its failure, and resolves to whether it succeeded. */
  readonly attempt: (
    what: 'renew' | 'release' | 'sweep' | 'replay',
    action: () => Promise<unknown>,
  ) => Promise<boolean>;
}

/**
 * After Redis was away every process first renews its leases and replays what it has on disk. Who settles for others before
 * that would charge requests that run, or have ended well, as abandoned: a request has one record. In so many rounds without
 * a failure every other process has had one.
 */
const CALM_ROUNDS = 3;
/** What a process had on disk when it ended is replayed by another one that shares its folder: until then it is not abandoned. */
const SPOOL_GRACE_MS = 90_000;

/**
 * What a process does at regular intervals: renews its leases, replays its spool, settles for processes that have ended.
 * Returns one round of it, which never rejects.
 */
export function createUpkeep(options: UpkeepOptions): () => Promise<void> {
  const { ledger, spool, openIds, leaseMs, release, settle, attempt } = options;
  let calmRounds = 0;
  return async () => {
    const isRenewed = await attempt('renew', () => ledger.renew(openIds(), leaseMs));
    await attempt('release', release);
    const isReplayed = await attempt('replay', () => spool.replay(settle));
    calmRounds = isRenewed && isReplayed ? calmRounds + 1 : 0;
    if (calmRounds >= CALM_ROUNDS) await attempt('sweep', () => ledger.settleAbandoned(SPOOL_GRACE_MS));
  };
}
