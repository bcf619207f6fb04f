import { ENDPOINTS, namesObject } from '@gateway/contracts/endpoints/endpoints';
import type { EndpointScope, Identity } from '@gateway/contracts/identity';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import { isConversationProtocol, type ModelKind, type Protocol } from '@gateway/upstream/protocol';

/** What callers can do with a model of each kind. Every endpoint of conversations reaches every model that has them, translated if need be. */
const SCOPES_OF_KIND: Readonly<Record<ModelKind, readonly (EndpointScope & Protocol)[]>> = {
  text: ['responses', 'messages', 'chat', 'gemini', 'completions'],
  image: ['images'],
  speech: ['speech'],
  transcription: ['transcriptions'],
  embedding: ['embeddings'],
  rerank: ['rerank'],
  moderation: ['moderations'],
  realtime: ['realtime'],
};

/** Bare prompts are not translated, and a route may take nothing else. */
const isReached = (scope: EndpointScope, { kind, routes }: Pick<ResolvedModel, 'kind' | 'routes'>): boolean =>
  kind !== 'text' ||
  routes.some(({ speaks }) =>
    scope === 'completions' ? speaks.includes(scope) : speaks.some(isConversationProtocol),
  );

const WITHOUT_MODEL: ReadonlySet<string> = new Set([
  '/v1/conversations',
  '/v1/images/jobs',
  '/v1/audio/jobs',
]);

/** Requests about a single object, conversations and batches name no model. */
const takesModel = (path: string): boolean => !namesObject(path) && !WITHOUT_MODEL.has(path);

/** The gateway does not know when a model was made; both protocols allow the epoch for that. */
const [UNKNOWN_SECONDS, UNKNOWN_TIME] = [0, '1970-01-01T00:00:00Z'];

/** What the Messages protocol's clients require of an entry: null where the gateway does not know it. */
const ofMessages = (contextWindow: number | null, maxOutputTokens: number | null) => ({
  capabilities: null,
  deprecated_at: null,
  lifecycle: 'active' as const,
  line: null,
  max_input_tokens: contextWindow,
  max_tokens: maxOutputTokens,
  retires_at: null,
});

/**
 * A model with the members of both protocols' lists, so that each kind of client finds its own; what is only in this
 * gateway's list is below `gateway`.
 */
export function modelEntry(model: ResolvedModel, { endpoints: allowed }: Pick<Identity, 'endpoints'>) {
  const { name: id, kind, routes, price, maxOutputTokens } = model;
  const contextWindow = model.contextWindow ?? model.knownContextWindow;
  const scopes = SCOPES_OF_KIND[kind].filter(
    (scope) => isReached(scope, model) && (allowed === null || allowed.includes(scope)),
  );
  return {
    id,
    object: 'model',
    created: UNKNOWN_SECONDS,
    owned_by: 'gateway',
    type: 'model',
    display_name: id,
    created_at: UNKNOWN_TIME,
    ...ofMessages(contextWindow, maxOutputTokens),
    gateway: {
      kind,
      /** The protocols that its channels speak themselves: through these nothing is translated. */
      protocols: SCOPES_OF_KIND[kind].filter((protocol) =>
        routes.some(({ speaks }) => speaks.includes(protocol)),
      ),
      endpoints: ENDPOINTS.filter(
        ({ method, path, scope }) =>
          method === 'POST' && takesModel(path) && scopes.some((own) => own === scope),
      ).map(({ path }) => path),
      /** US dollars, as in the configuration; absent for a model without a price. */
      ...(price !== null && { price }),
      ...(contextWindow !== null && { context_window: contextWindow }),
      ...(maxOutputTokens !== null && { max_output_tokens: maxOutputTokens }),
    },
  };
}
