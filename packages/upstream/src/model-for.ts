import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import { fitsPattern } from '@gateway/contracts/models/model-pattern';
import type { Catalog, ResolvedModel } from './catalog.ts';
import { type ModelKind, PROTOCOLS_OF_KIND, type Protocol } from './protocol.ts';

interface ModelQuery {
  /** The name that the caller used. */
  readonly name: string;
  /** The protocols that can serve the endpoint: any one of them is enough. */
  readonly protocols: readonly Protocol[];
  readonly identity: Pick<Identity, 'models' | 'channel'>;
}

/** Longer than any provider's name. Usage records and sums contain callers' names, also those that only fit a pattern. */
const MAX_NAME_CHARACTERS = 200;

const KIND_WORDS: Readonly<Record<ModelKind, string>> = {
  text: 'a text model',
  image: 'an image model',
  speech: 'a speech model',
  transcription: 'a transcription model',
  embedding: 'an embedding model',
  rerank: 'a rerank model',
  moderation: 'a moderation model',
  realtime: 'a realtime model',
};

/**
 * The model that a request names, if this key may use it and this endpoint can serve it.
 *
 * @throws {GatewayError} `model_not_found` for a model that does not exist or that the key may not use, which must look
 * the same; `unsupported_model` for one of another kind, or one that no channel offers by these protocols
 */
export function modelFor(
  catalog: Pick<Catalog, 'resolveModel'>,
  { name: requested, protocols, identity }: ModelQuery,
): ResolvedModel {
  const name = requested.slice(0, MAX_NAME_CHARACTERS);
  const model = name === requested && mayUse(identity, name) ? catalog.resolveModel(name) : null;
  if (model === null) {
    throw new GatewayError('model_not_found', {
      path: ['model'],
      message: {
        openai: `The model '${name}' does not exist or you do not have access to it.`,
        anthropic: name,
      },
    });
  }
  if (!protocols.some((protocol) => PROTOCOLS_OF_KIND[model.kind].includes(protocol))) {
    throw unsupported(
      `The model '${name}' is ${KIND_WORDS[model.kind]} and cannot be used with this endpoint.`,
    );
  }
  const isAvailable = protocols.some((protocol) =>
    model.routes.some(({ speaks }) => speaks.includes(protocol)),
  );
  if (!isAvailable) throw unsupported(`The model '${name}' is not available through this endpoint.`);
  return identity.channel === undefined ? model : onlyAt(model, identity.channel);
}

/** @throws {GatewayError} `model_not_found` when a queued job's model is no longer configured */
export function modelOfJob(catalog: Pick<Catalog, 'resolveModel'>, name: string): ResolvedModel {
  const model = catalog.resolveModel(name);
  if (model !== null) return model;
  throw new GatewayError('model_not_found', {
    path: ['model'],
    message: `The model '${name}' does not exist or you do not have access to it.`,
  });
}

/** The model as if this channel alone had it. */
function onlyAt(model: ResolvedModel, channel: string): ResolvedModel {
  const routes = model.routes.filter((route) => route.channel.name === channel);
  if (routes.length === 0)
    throw unsupported(`The model '${model.name}' has no route to the channel '${channel}'.`);
  return { ...model, routes };
}

const unsupported = (message: string) => new GatewayError('unsupported_model', { path: ['model'], message });

/** Whether a key's model patterns (`gpt-*`) match a name. */
export const mayUse = ({ models }: Pick<Identity, 'models'>, name: string): boolean =>
  models === null || models.some((pattern) => fitsPattern(pattern, name));
