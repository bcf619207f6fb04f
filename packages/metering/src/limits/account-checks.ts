import type { Account } from '@gateway/contracts/identity';
import type { Check } from './admission.ts';

/** The edge's checks for a request, over all the accounts that it counts on; other limits need the body. */
export function checksOf(accounts: readonly Account[]): readonly Check[] {
  const checks: Check[] = [];
  for (const { owner, limits } of accounts) {
    const { requestsPerMinute, concurrentRequests } = limits;
    if (requestsPerMinute !== undefined) checks.push({ kind: 'rate', owner, limit: requestsPerMinute });
    if (concurrentRequests !== undefined) checks.push({ kind: 'slots', owner, limit: concurrentRequests });
  }
  return checks;
}
