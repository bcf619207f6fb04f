import type { Candidate } from '../candidate.ts';
import type { Account, Channel, Configuration } from '../configuration/configuration.ts';
import type { CredentialSource } from '../credentials/credential-source.ts';
import { CredentialSources } from '../credentials/credential-sources.ts';
import type { FirstOutputTimes } from '../hedging/first-output-times.ts';
import { ChannelClient } from '../sending/channel-client.ts';
import { type LeaseStore, leasesName } from './lease-store.ts';
import type { DecayingMean } from './route-loads.ts';
import { SharedLeases } from './shared-leases.ts';
import { SlotPool } from './slot-pool.ts';

/** What this process knows of a channel. Its accounts share it. */
interface ChannelState {
  readonly connections: ChannelClient;
  /** How long first outputs take, by model and kind of reply. */
  readonly times: Map<string, FirstOutputTimes>;
}

/** What this process knows of one account. A request finds it once and keeps it, whatever the configuration becomes. */
export interface AccountState extends ChannelState {
  readonly slots: SlotPool;
  /** Where its credentials come from; null: it has a key, or needs none. */
  readonly credentials: CredentialSource | null;
  /** How its slots are kept together with other processes; null: they are this process's own. */
  readonly leases: SharedLeases | null;
  /** How long first outputs took lately, by model and protocol. */
  readonly loads: Map<string, DecayingMean>;
}

interface AccountsOptions {
  /** Absent: the process keeps every bound by itself. */
  readonly leases?: LeaseStore | undefined;
  /** Absent: sources of its own. */
  readonly credentials?: CredentialSources | undefined;
}

/** How often leases are renewed, which is also how soon a process learns that others wait, in milliseconds. */
const RENEW_MS = 500;
/** How many requests may wait for one account. */
const MAX_WAITING = 1_000;

/**
 * The states of all accounts of the configuration. A new configuration keeps the requests in flight, connections whose settings
 * are the same, and what is known by name.
 */
export class Accounts {
  readonly #store: LeaseStore | undefined;
  readonly #credentials: CredentialSources;
  readonly #states = new WeakMap<Account, AccountState>();
  /** Those of the present configuration, and those with requests in flight that it does not have any more. */
  readonly #byName = new Map<string, AccountState>();
  readonly #channels = new Map<string, ChannelState>();
  readonly #connections = new Set<ChannelClient>();
  #timer: NodeJS.Timeout | null = null;

  constructor({ leases, credentials }: AccountsOptions) {
    this.#store = leases;
    this.#credentials = credentials ?? new CredentialSources({});
  }

  of({ channel, account }: Pick<Candidate, 'channel' | 'account'>): AccountState {
    return this.#states.get(account) ?? this.#add(channel, account);
  }

  get slots(): readonly SlotPool[] {
    return [...this.#byName.values()].map(({ slots }) => slots);
  }

  replace({ channels }: Configuration): void {
    for (const client of this.#connections) if (client.isSpent) this.#connections.delete(client);
    const gone = new Map(this.#byName);
    this.#credentials.replace(channels.values());
    for (const channel of channels.values())
      for (const account of channel.accounts) {
        this.#add(channel, account);
        gone.delete(nameOf(channel, account));
      }
    for (const [name, { slots, leases }] of gone) {
      if (slots.inFlight > 0) continue;
      this.#byName.delete(name);
      void leases?.close();
    }
    for (const [name, { connections }] of this.#channels) {
      if (channels.has(name)) continue;
      this.#channels.delete(name);
      connections.retire();
    }
  }

  /** Takes no more requests; resolves when those in flight have ended. */
  close(): Promise<void> {
    return this.#closeAfter((client) => client.close());
  }

  /** Aborts the requests in flight. */
  destroy(): Promise<void> {
    return this.#closeAfter((client) => client.destroy());
  }

  async #closeAfter(end: (client: ChannelClient) => Promise<void>): Promise<void> {
    await Promise.all([...this.#connections].map(end));
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await Promise.all([...this.#byName.values()].map(({ leases }) => leases?.close()));
  }

  #add(channel: Channel, account: Account): AccountState {
    const name = nameOf(channel, account);
    const before = this.#byName.get(name);
    const names = { channel: channel.name, account: account.name };
    const bounds = { maxConcurrent: channel.maxConcurrentPerProcess, maxWaiting: MAX_WAITING };
    const slots = before?.slots ?? new SlotPool(names, bounds);
    const leases = this.#leasesOf(account, { name, slots, before: before?.leases ?? null });
    const limit = leases === null ? account.maxConcurrent : null;
    slots.configure({ ...bounds, maxConcurrent: Math.min(bounds.maxConcurrent, limit ?? Infinity) }, leases);
    const credentials = this.#credentials.of(channel, account);
    const loads = before?.loads ?? new Map();
    const state = { ...this.#channelState(channel), slots, credentials, leases, loads };
    this.#byName.set(name, state);
    this.#states.set(account, state);
    return state;
  }

  #leasesOf(
    { maxConcurrent: limit }: Account,
    { name, slots, before }: { name: string; slots: SlotPool; before: SharedLeases | null },
  ): SharedLeases | null {
    if (limit === null || this.#store === undefined) {
      void before?.close();
      return null;
    }
    const leases = before ?? new SharedLeases({ name, pool: slots, store: this.#store, limit });
    leases.limit = limit;
    this.#timer ??= setInterval(() => this.#renew(), RENEW_MS).unref();
    return leases;
  }

  #channelState(channel: Channel): ChannelState {
    const before = this.#channels.get(channel.name);
    if (before?.connections.fits(channel)) return before;
    before?.connections.retire();
    const state = { connections: new ChannelClient(channel), times: before?.times ?? new Map() };
    this.#channels.set(channel.name, state);
    this.#connections.add(state.connections);
    return state;
  }

  #renew(): void {
    for (const { leases } of this.#byName.values()) leases?.renew();
  }
}

const nameOf = (channel: Channel, account: Account): string =>
  leasesName({ channel: channel.name, account: account.name });
