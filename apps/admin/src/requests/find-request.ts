import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import type { UsageStore } from '@gateway/records/usage/usage-store';
import { timeOfRequestId } from '@gateway/service-kit/request/request-id';
import { type Scope, seesUsage } from '../sessions/scope.ts';

/** The record of a request by the id that its caller got, or by its own; null for one that a person does not see. */
export type FindRequest = (id: string, scope: Scope) => Promise<UsageRecord | null>;

export const createFindRequest =
  (usage: Pick<UsageStore, 'find'>): FindRequest =>
  (id, scope) =>
    // Of several with an id that a caller chose, the newest.
    usage.find(id, { of: timeOfRequestId(id) === null ? 'last' : 'first', isSeen: seesUsage(scope) });
