import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { TokenUsage } from '../usage.ts';

/** Watches one reply's events pass, in one protocol: learns what it consumed and how it ended, and can end it in its stead. */
export interface StreamWatch {
  /**
   * Takes the data of the next frame.
   *
   * @throws {Garbage} for data that no stream of this protocol holds
   */
  event(data: string): void;
  /** The provider's id of what is being generated; null until it is known. */
  readonly id: string | null;
  /** Null until the provider has said it. */
  readonly usage: TokenUsage | null;
  /** Characters of text, reasoning and arguments that have come, for an estimate where usage is missing. */
  readonly outputLength: number;
  /** Whether the protocol's last event has come. */
  readonly ended: boolean;
  /** Whether a stream that is closed now was closed in time. */
  readonly mayEnd: boolean;
  /** What the provider itself reported as having failed, in words for our log. */
  readonly reportedFailure: string | null;
  /** The frames that end a stream which broke: after them the reply is over for every client of the protocol. */
  breakOff(error: GatewayError, requestId: string): string;
  /** A frame that says nothing, for long silences; null while none may be sent. */
  keepAlive(): string | null;
}

/** The upstream sent something that is not of its protocol. */
export class Garbage extends Error {
  override readonly name = 'Garbage';
  constructor() {
    super('an event whose data is not JSON');
  }
}
