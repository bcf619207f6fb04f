import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { RequestContext } from '@gateway/service-kit/request/request-context';
import type { Reply } from '@gateway/upstream/replies/reply';
import { UNBUFFERED } from '../call/attempts/reply-head.ts';
import type { TextEndpoint } from '../call/request/text-endpoint.ts';
import type { Dropped } from '../neutral/losses.ts';
import { betasOf, THREADS_BETA } from '../protocols/messages/request/betas.ts';

/** The headers of a protocol, known or not yet known. */
const PASSED_PREFIXES = ['openai-', 'anthropic-', 'x-codex-', 'openresponses-'];
const PASSED = new Set(['content-type', 'x-models-etag', 'x-reasoning-included']);

/** These describe the gateway's own account at the provider: they are wrong for a caller, and none of its business. */
const WITHHELD = new Set([
  'openai-organization',
  'openai-project',
  'anthropic-organization-id',
  'anthropic-workspace-id',
]);
const WITHHELD_PREFIX = 'anthropic-ratelimit-';

const decisions = new Map<string, boolean>();
const MAX_DECISIONS = 1000;

function passes(name: string): boolean {
  const known = decisions.get(name);
  if (known !== undefined) return known;
  const passed =
    (PASSED.has(name) || PASSED_PREFIXES.some((prefix) => name.startsWith(prefix))) &&
    !WITHHELD.has(name) &&
    !name.startsWith(WITHHELD_PREFIX);
  if (decisions.size >= MAX_DECISIONS) decisions.clear();
  decisions.set(name, passed);
  return passed;
}

/** The head of a reply that passes through: the protocol's headers of the provider's, and our own. */
export function replyHeaders(
  reply: Reply,
  { requestId }: Pick<RequestContext, 'requestId'>,
): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  for (const name in reply.headers) if (passes(name)) headers[name] = reply.headers[name];
  headers['x-request-id'] = requestId;
  headers['request-id'] = requestId;
  headers['x-gateway-channel'] = reply.candidate.channel.name;
  return headers;
}

/** The same for an event stream, whose type the provider names. */
export const streamHeaders = (
  reply: Reply,
  context: Pick<RequestContext, 'requestId'>,
): OutgoingHttpHeaders => ({
  ...replyHeaders(reply, context),
  ...UNBUFFERED,
});

const VERSION = 'anthropic-version';
/** What a Messages request means that names no version; the edge has refused it unless its key came as a Bearer token. */
const DEFAULT_VERSION = '2023-06-01';

const BETA = 'anthropic-beta';

/**
 * The caller's headers for a channel of the same protocol; where they are sent, those stay that are not on its list.
 *
 * @param unthreaded the gateway has made a whole conversation of a message thread's turn
 */
export function upstreamRequestHeaders(
  { protocol }: Pick<TextEndpoint, 'protocol'>,
  { headers }: Pick<IncomingMessage, 'headers'>,
  unthreaded: boolean,
  refusedBetas: readonly string[],
): IncomingHttpHeaders {
  if (protocol !== 'messages') return headers;
  const versioned = headers[VERSION] === undefined ? { ...headers, [VERSION]: DEFAULT_VERSION } : headers;
  if (!unthreaded && refusedBetas.length === 0) return versioned;
  const { [BETA]: _, ...others } = versioned;
  const betas = betasOf(headers).filter(
    (beta) => !(unthreaded && beta === THREADS_BETA) && !isRefused(beta, refusedBetas),
  );
  return betas.length === 0 ? others : { ...others, [BETA]: betas.join(',') };
}

/** The caller's betas that a channel refuses, which are left out. */
export const droppedBetas = (
  { protocol }: Pick<TextEndpoint, 'protocol'>,
  { headers }: Pick<IncomingMessage, 'headers'>,
  refusedBetas: readonly string[],
): readonly Dropped[] =>
  protocol !== 'messages' || refusedBetas.length === 0
    ? []
    : betasOf(headers)
        .filter((beta) => isRefused(beta, refusedBetas))
        .map((beta) => ({ path: [BETA, beta], reason: 'refused by this upstream' }));

const isRefused = (beta: string, refused: readonly string[]): boolean =>
  refused.some((one) => (one.endsWith('*') ? beta.startsWith(one.slice(0, -1)) : beta === one));
