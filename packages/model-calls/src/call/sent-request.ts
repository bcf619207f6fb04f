import type { IncomingHttpHeaders } from 'node:http';
import type { Identity } from '@gateway/contracts/identity';
import type { PendingEntry } from '@gateway/metering/limits/request-entry';
import type { Caller } from '@gateway/model-service/caller';
import type { RequestContext } from '@gateway/service-kit/request/request-context';

/** A request for a model as its caller sent it, whatever carried it: its body as JSON, and as bytes. */
export interface SentRequest {
  readonly value: unknown;
  readonly bytes: Buffer;
  readonly headers: IncomingHttpHeaders;
  readonly caller: Caller;
  readonly context: RequestContext;
  readonly identity: Identity;
  /** Of a request that is counted with what it reserves. */
  readonly entry: PendingEntry | undefined;
}
