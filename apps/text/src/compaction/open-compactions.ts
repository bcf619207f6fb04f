import type { Candidate } from '@gateway/upstream/candidate';
import { isPassed } from '../call/candidates/is-passed.ts';
import { ownersOf } from '../call/history/conversation-space.ts';
import { type TextCall, waitingFor } from '../call/request/text-call.ts';
import { contentOf, type LargeBody } from '../call/request/text-request.ts';
import { inThread } from '../large/in-thread.ts';
import type { MaybePromise } from '../large/maybe-promise.ts';
import { bufferOf } from '../large/shared-bytes.ts';
import { isMadeAt } from '../stored/origins/maker.ts';
import type { JsonObject } from '../wire/json-object.ts';
import { Opener, type Opening } from './opener.ts';

/** Whether a candidate's provider compacts conversations of this call itself, and reads what it has compacted. */
export const compactsItself = (
  { endpoint }: Pick<TextCall, 'endpoint'>,
  { protocol, route, channel }: Candidate,
): boolean =>
  protocol === endpoint.protocol &&
  route.quirks.compaction &&
  (endpoint.operation !== 'responses.compact' || channel.paths['responses.compact'] !== undefined);

/**
 * A call as a candidate can be sent it: what the gateway sealed is opened, a provider's own goes to that provider alone.
 * Orders to compact stay only for who obeys them. The call comes back as it is where it has nothing of the kind.
 *
 * @throws {GatewayError} `invalid_compaction` for what neither the gateway nor the candidate can read;
 * `compaction_content_mismatch`
 */
export function openCompactions(call: TextCall, candidate: Candidate): MaybePromise<TextCall> {
  const { compaction, content, large, rewritten } = call.request;
  if (compaction === null) return call;
  const opening = openingOf(call, candidate);
  if (large !== null) return openLarge(call, large, opening);
  const opener = new Opener(opening, call.services.compactions);
  const opened = () => opener.open(content.take());
  let first: JsonObject | null = opened();
  if (!opener.hasChanged) return call;
  const take = () => {
    const body = first ?? opened();
    first = null;
    return body;
  };
  const dropped = [...(rewritten?.dropped ?? []), ...opener.dropped];
  return {
    ...call,
    request: { ...call.request, content: { take, release: () => {} }, rewritten: { dropped } },
  };
}

async function openLarge(call: TextCall, { bytes }: LargeBody, opening: Opening): Promise<TextCall> {
  const { request, services } = call;
  const task = { bytes, opening, key: services.compactions.key };
  const opened = await inThread('open', task, waitingFor(call));
  if (opened === null) return call;
  const body = bufferOf(opened.bytes);
  return {
    ...call,
    request: {
      ...request,
      content: contentOf(body),
      large: { bytes: body, mayHoldTokens: true },
      rewritten: { dropped: [...(request.rewritten?.dropped ?? []), ...opened.dropped] },
    },
  };
}

function openingOf(call: TextCall, candidate: Candidate): Opening {
  const { endpoint, request, history, identity, services, compacted } = call;
  const unreadable = request.ids.flatMap(({ kind, id }, index) => {
    const origin = history.origins[index];
    const isElsewhere = typeof origin === 'object' && !isMadeAt(origin, candidate);
    return kind === 'compaction' && (origin === 'foreign' || isElsewhere) ? [id] : [];
  });
  return {
    protocol: endpoint.protocol,
    sent: request.bytes,
    owners: ownersOf(identity, services.upstream.configuration.conversations),
    keptCount: request.rewritten?.keptItems ?? 0,
    isNative: compactsItself(call, candidate),
    isTranslated: !isPassed(call, candidate),
    wasLookedAt: compacted !== undefined,
    unreadable: new Set(unreadable),
  };
}
