import type { Channel, Configuration } from '../configuration/configuration.ts';
import { ChannelClient } from './channel-client.ts';

/** The clients of all channels. Reloading the configuration keeps those with unchanged connection settings. */
export class ChannelClients {
  readonly #clients = new WeakMap<Channel, ChannelClient>();
  readonly #all = new Set<ChannelClient>();
  #current: ReadonlyMap<string, Channel> = new Map();

  of(channel: Channel): ChannelClient {
    const known = this.#clients.get(channel);
    if (known !== undefined) return known;
    const client = new ChannelClient(channel);
    this.#clients.set(channel, client);
    this.#all.add(client);
    return client;
  }

  replace(configuration: Configuration): void {
    for (const client of this.#all) if (client.isSpent) this.#all.delete(client);
    for (const [name, before] of this.#current) {
      const client = this.#clients.get(before);
      if (client === undefined) continue;
      const after = configuration.channels.get(name);
      if (after !== undefined && client.fits(after)) {
        this.#clients.set(after, client);
      } else {
        client.retire();
      }
    }
    this.#current = configuration.channels;
  }

  /** Resolves when all requests in flight have ended. */
  async close(): Promise<void> {
    await Promise.all([...this.#all].map((client) => client.close()));
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#all].map((client) => client.destroy()));
  }
}
