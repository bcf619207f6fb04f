import type { WatchedProcess } from './processor-time.ts';

/** Something that answers the requests of this benchmark: the upstream itself, the gateway, a peer, the floor. */
export interface Contender {
  readonly name: string;
  readonly baseUrl: string;
  /** What a request needs to be let in and to reach the upstream. */
  readonly headers: Readonly<Record<string, string>>;
  /** Every process that it takes, whose processor time and memory count. */
  readonly processes: readonly WatchedProcess[];
  /** From its start, everything installed, to its first answer. */
  readonly startMs: number;
  stop(): Promise<void>;
}
