import type { Account, Channel, Route } from './configuration/configuration.ts';
import type { LibraryName } from './libraries/libraries.ts';
import { isMediaProtocol, type Protocol } from './protocol.ts';

/** An account that may serve a request by one of its channel's routes, under one protocol. */
export interface Candidate {
  readonly channel: Channel;
  readonly account: Account;
  readonly route: Route;
  readonly protocol: Protocol;
  /** Its share among the candidates of its priority: the route's, shared out among the channel's accounts. */
  readonly weight: number;
  /** The model's name at the channel, for the body. */
  readonly model: string;
  /** The name that the caller used. */
  readonly requestedModel: string;
}

/** The client library that a candidate is called by; null: it gets requests of its protocol. */
export const libraryBy = ({
  channel,
  protocol,
}: Pick<Candidate, 'channel' | 'protocol'>): LibraryName | null =>
  isMediaProtocol(protocol) ? channel.library : null;
