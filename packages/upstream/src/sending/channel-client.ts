import type { Dispatcher } from 'undici';
import type { Channel } from '../configuration/configuration.ts';
import { isSameWay, type Network } from '../connecting/network.ts';
import { openPool } from '../connecting/open-pool.ts';
import { FinalReply } from '../replies/final-reply.ts';

/** The connections of one channel, opened when first needed. */
export class ChannelClient {
  readonly #origin: string;
  readonly #connectMs: number;
  readonly #network: Network;
  #pool: Dispatcher | null = null;
  #retired = false;
  #inFlight = 0;

  constructor(channel: Channel) {
    this.#origin = channel.origin;
    this.#connectMs = channel.connectMs;
    this.#network = channel.network;
  }

  /** Requests that have begun and not ended. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Whether this client's connections serve a channel with these settings as well as its own. */
  fits(channel: Channel): boolean {
    return (
      channel.origin === this.#origin &&
      channel.connectMs === this.#connectMs &&
      isSameWay(channel.network, this.#network, this.#origin)
    );
  }

  /** Counts a request, which may consist of several. Exactly one `release` must follow each call. */
  begin(): void {
    this.#inFlight += 1;
  }

  /** Sends a request that was counted, or one of several that were counted together. */
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#pool ??= openPool(this.#origin, { network: this.#network, connectMs: this.#connectMs });
    this.#pool.dispatch(options, new FinalReply(handler));
  }

  release(): void {
    this.#inFlight -= 1;
    if (this.#retired && this.#inFlight === 0) this.#closeIdle();
  }

  /** Whether only requests that chose this client before it was retired can still use it. */
  get isSpent(): boolean {
    return this.#retired && this.#inFlight === 0;
  }

  /** Closes the connections as soon as nothing uses them. A request that still comes opens them once more. */
  retire(): void {
    this.#retired = true;
    if (this.#inFlight === 0) this.#closeIdle();
  }

  /** Takes no more requests. Resolves when those in flight have ended. */
  async close(): Promise<void> {
    await this.#pool?.close();
  }

  /** Aborts the requests in flight. */
  async destroy(): Promise<void> {
    await this.#pool?.destroy();
  }

  #closeIdle(): void {
    void this.#pool?.close();
    this.#pool = null;
  }
}
