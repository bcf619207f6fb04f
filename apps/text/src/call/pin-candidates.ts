import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/catalog';
import { spaceOf } from '../stored/conversations/conversation-space.ts';
import type { FoundOrigin, IdKind, IdOrigin } from '../stored/id-origins.ts';
import type { NamedId } from '../stored/named-ids.ts';
import type { TextCall } from './text-call.ts';
import { threadNotFound, threadUnsupported } from './thread-errors.ts';

/**
 * Leaves those of a call's candidates that know what its request names. All keys share one account at a provider, which
 * would answer for any of its ids: so each is checked against the key that received it.
 *
 * @throws {GatewayError} for an id that is another key's, and for one that must be known and is not: the two look the same
 */
export async function pinCandidates(
  call: Pick<TextCall, 'services' | 'identity' | 'endpoint' | 'request' | 'model'>,
  candidates: readonly Candidate[],
): Promise<readonly Candidate[]> {
  const { request, endpoint } = call;
  const { ids, thread } = request;
  const own = candidates.filter(
    ({ protocol, route }) =>
      protocol === endpoint.protocol && (thread === null || route.quirks.messageThreads),
  );
  if (thread !== null && own.length === 0) throw heldByNobody(call);
  const usable = thread === null ? candidates : own;
  // What has to be translated knows nothing of providers' ids, and says so itself; earlier responses are the exception.
  if (ids.length === 0 || (own.length === 0 && ids.every(({ kind }) => kind !== 'response'))) return usable;

  const origins = await originsOf(call);
  const known = ids.flatMap((named, index) => {
    const origin = origins[index];
    return isKnown(origin) && named.need !== 'none' ? [{ named, origin }] : [];
  });
  const [first] = known;
  if (first === undefined) return usable;
  const pinned = own.filter(({ channel }) => channel.name === first.origin.channel);
  for (const { named, origin } of known) {
    const isElsewhere = pinned.length === 0 || origin.channel !== first.origin.channel;
    if (named.need === 'required' && isElsewhere) throw notFound(named);
  }
  if (!known.some(({ named }) => named.need === 'required')) {
    const others = usable.filter(({ protocol }) => protocol !== endpoint.protocol);
    return pinned.length === 0 ? usable : [...pinned, ...others];
  }
  const sameModel = pinned.filter(({ model }) => model === first.origin.model);
  return sameModel.length > 0 ? sameModel : pinned;
}

/** The gateway would keep this thread, but does not have it; or it keeps none, and no channel does. */
function heldByNobody({
  identity,
  model,
  request,
}: Pick<TextCall, 'identity' | 'request' | 'model'>): GatewayError {
  const continued = request.ids.find(({ path }) => path[0] === 'thread');
  return continued !== undefined && spaceOf(identity, model.name) !== null
    ? threadNotFound(continued.id)
    : threadUnsupported();
}

async function originsOf({
  request,
  identity,
  services,
}: Pick<TextCall, 'services' | 'identity' | 'request'>): Promise<readonly FoundOrigin[]> {
  const { ids } = request;
  const origins = await services.origins.find(ids, identity.keyId);
  for (const [index, named] of ids.entries()) {
    const origin = origins[index];
    if (origin === 'foreign' || (named.need === 'required' && !isKnown(origin))) throw notFound(named);
  }
  return origins;
}

const isKnown = (origin: FoundOrigin | undefined): origin is IdOrigin => typeof origin === 'object';

/** As the providers write it. */
const NOUNS: Readonly<Record<IdKind, string>> = {
  response: 'Response',
  item: 'Item',
  conversation: 'Conversation',
  message: 'Message',
  container: 'Container',
  audio: 'Audio',
};

function notFound({ kind, id, path }: NamedId): GatewayError {
  if (path[0] === 'previous_response_id') {
    return new GatewayError('previous_response_not_found', {
      path: [...path],
      message: `Previous response with id '${id}' not found.`,
    });
  }
  const message = `${NOUNS[kind]} with id '${id}' not found.`;
  if (path[0] === 'thread') return threadNotFound(id);
  return new GatewayError('object_not_found', { path: kind === 'item' ? ['input'] : [...path], message });
}
