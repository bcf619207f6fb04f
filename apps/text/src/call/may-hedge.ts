import type { Candidate } from '@gateway/upstream/catalog';
import type { TextCall } from './text-call.ts';

/**
 * Whether a call may be sent to two candidates at a time. Not what is bound to one provider, goes on without its caller, or
 * makes a provider do something twice: what it names, a thread, a background response, built-in tools.
 */
export function mayHedge({ request, thread }: TextCall, candidates: readonly Candidate[]): boolean {
  const [first] = candidates;
  return (
    candidates.length > 1 &&
    first !== undefined &&
    first.route.hedge !== null &&
    !request.background &&
    request.ids.length === 0 &&
    request.thread === null &&
    thread === null &&
    request.builtInTools.length === 0
  );
}
