import type { Candidate } from '../candidate.ts';
import type { FailureKind } from '../failures/failure-rules.ts';

/** Failures of a server, whichever key was sent: the channel's other accounts are likely to meet them too. */
const OF_THE_CHANNEL: ReadonlySet<FailureKind> = new Set(['unreachable', 'failed', 'timeout', 'overloaded']);

const NONE: readonly Candidate[] = [];

/**
 * The accounts of channels that have failed one request: they come after all other candidates, so that the attempts are not
 * used up before another channel was called.
 */
export class DeferredAccounts {
  /** Null until a channel fails, which most requests do not see. */
  #failed: Set<string> | null = null;
  #deferred: readonly Candidate[] = NONE;
  #isLate = false;

  add({ channel }: Candidate, kind: FailureKind): void {
    if (this.#isLate || channel.accounts.length === 1 || !OF_THE_CHANNEL.has(kind)) return;
    this.#failed ??= new Set();
    this.#failed.add(channel.name);
  }

  /** Whether the candidate is to be tried later, by `next`. */
  defer(candidate: Candidate): boolean {
    const isDeferred = this.#failed?.has(candidate.channel.name) ?? false;
    if (isDeferred) this.#deferred = [...this.#deferred, candidate];
    return isDeferred;
  }

  /** Call it when no other candidate is left. Null: none of these is left either. */
  next(): Candidate | null {
    this.#isLate = true;
    this.#failed = null;
    const [next = null, ...others] = this.#deferred;
    this.#deferred = others;
    return next;
  }
}
