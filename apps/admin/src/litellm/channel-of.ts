import { isAbsolute } from 'node:path';
import type { ChannelEntry, RouteEntry } from '@gateway/upstream/configuration/file-schema';
import type { KnownDeployment } from './deployments.ts';
import type { TakeNote } from './notes.ts';
import { carried, variable } from './variables.ts';

/** Where a deployment is reached. */
export interface Reached {
  /** The channel without its key. */
  readonly channel: ChannelEntry;
  /** Null: it needs none, or has other credentials. */
  readonly key: string | null;
  readonly route: Pick<RouteEntry, 'model' | 'speaks'>;
  /** Members of `litellm_params` that are in it. */
  readonly used: readonly string[];
}

type Params = KnownDeployment['params'];

const MS = 1000;

/** @returns null if it cannot be reached, which is noted */
export function reach(deployment: KnownDeployment, note: TakeNote): Reached | null {
  const { params } = deployment;
  const common = commonSettings(params);
  const place = placeOf(deployment, note);
  if (place === null) return null;
  if (params.api_key && !params.api_key.startsWith('os.environ/'))
    note(
      'todo',
      `${deployment.place}.litellm_params.api_key`,
      'The key stands in the new file too. Better put it into the environment, and the name of its variable in its place.',
    );
  return {
    channel: { ...place.channel, ...common },
    key: place.channel.auth === undefined ? keyOf(deployment, place.channel, note) : null,
    route: place.route,
    used: [...COMMON, ...place.used],
  };
}

function keyOf(
  { params, provider, place }: KnownDeployment,
  channel: ChannelEntry,
  note: TakeNote,
): string | null {
  if (params.api_key) return carried(params.api_key);
  if (provider.keyVariable === undefined) return null;
  // Nobody's server is sent OpenAI's key.
  if (
    provider.provider !== channel.provider ||
    (provider.baseUrl === undefined && channel.provider === 'openai-compatible')
  ) {
    note(
      'todo',
      place,
      `The file has no api_key for its server, and LiteLLM sends it ${provider.keyVariable}; the gateway sends none. Add apiKey to the channel if it needs one.`,
    );
    return null;
  }
  return variable(provider.keyVariable);
}

const COMMON = [
  'model',
  'custom_llm_provider',
  'litellm_credential_name',
  'api_key',
  'api_base',
  'base_url',
  'organization',
  'headers',
  'extra_headers',
  'timeout',
  'stream_timeout',
  'max_parallel_requests',
  'weight',
  'order',
];

function commonSettings(params: Params): Partial<ChannelEntry> {
  const { organization, timeout, stream_timeout: stream, max_parallel_requests: parallel } = params;
  const given = { ...params.headers, ...params.extra_headers };
  const headers = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, carried(value)]));
  if (organization) headers['openai-organization'] = carried(organization);
  const timeouts = {
    ...(timeout ? { totalMs: Math.max(1, Math.round(timeout * MS)) } : {}),
    ...(stream ? { firstOutputMs: Math.max(1, Math.round(stream * MS)) } : {}),
  };
  return {
    ...(Object.keys(headers).length > 0 ? { headers } : {}),
    ...(Object.keys(timeouts).length > 0 ? { timeouts } : {}),
    ...(parallel ? { maxConcurrent: Math.max(1, Math.round(parallel)) } : {}),
  };
}

interface Place {
  readonly channel: ChannelEntry;
  readonly route: Pick<RouteEntry, 'model' | 'speaks'>;
  readonly used: readonly string[];
}

function placeOf(deployment: KnownDeployment, note: TakeNote): Place | null {
  const { settings } = deployment.provider;
  if (settings === 'aws') return onAws(deployment, note);
  if (settings === 'google') return onGoogle(deployment, note);
  if (settings === 'azure') return onAzure(deployment, note);
  if (settings === 'foundry') return onFoundry(deployment, note);
  return atAddress(deployment, note);
}

/** OpenAI's word for one of its two text protocols, before the model. */
const withoutWords = (model: string): string => model.replace(/^(?:responses|o_series|gpt5_series)\//, '');

function atAddress(
  { provider, params, model, place, prefix }: KnownDeployment,
  note: TakeNote,
): Place | null {
  const address = params.api_base ?? params.base_url ?? null;
  const route = { model: withoutWords(model) };
  if (address === null) {
    const { baseUrl } = provider;
    if (provider.provider === 'openai-compatible' && baseUrl === undefined) {
      note('left', place, `The provider '${prefix}' needs an api_base.`);
      return null;
    }
    if (baseUrl !== undefined)
      note(
        'changed',
        place,
        `The provider '${prefix}' is reached as openai-compatible, at ${baseUrl}: check the address.`,
      );
    return { channel: { provider: provider.provider, ...(baseUrl ? { baseUrl } : {}) }, route, used: [] };
  }
  const url = carried(address).replace(/\/+$/, '');
  const isOthers = provider.provider === 'openai' && !/^https:\/\/api\.openai\.com(?:\/|$)/.test(url);
  if (isOthers)
    note('changed', place, "An address that is not OpenAI's is a channel with provider: openai-compatible.");
  const own =
    provider.provider === 'anthropic'
      ? url.replace(/\/v1(?:\/messages)?$/, '')
      : provider.path !== undefined && !url.endsWith(provider.path)
        ? `${url}${provider.path}`
        : url.replace(/\/chat\/completions$/, '');
  return {
    channel: { provider: isOthers ? 'openai-compatible' : provider.provider, baseUrl: own },
    route,
    used: [],
  };
}

const texts = <Names extends string>(params: Params, names: Readonly<Record<Names, string>>) =>
  Object.entries<string>(names).flatMap(([name, own]) => {
    const value = params[name];
    return typeof value === 'string' && value !== '' ? [[own, carried(value)] as const] : [];
  });

const AWS = {
  aws_access_key_id: 'accessKeyId',
  aws_secret_access_key: 'secretAccessKey',
  aws_session_token: 'sessionToken',
  aws_profile_name: 'profile',
  aws_role_name: 'roleArn',
  aws_session_name: 'sessionName',
  aws_external_id: 'externalId',
} as const;

/** `us-east-1/anthropic.claude-…`, `converse/…`, `invoke/…`; an ARN has slashes of its own. */
const AWS_MODEL = /^(?:(converse|invoke|converse_like)\/)?(?:([a-z]{2}(?:-[a-z]+)+-\d)\/)?(.+)$/;

function onAws({ params, model, place }: KnownDeployment, note: TakeNote): Place | null {
  const [, way, regionOfModel, id = model] = AWS_MODEL.exec(model) ?? [];
  const named = params.aws_region_name ?? regionOfModel ?? /^arn:[\w-]+:bedrock:([\w-]+):/.exec(id)?.[1];
  const region = typeof named === 'string' ? carried(named) : variable('AWS_REGION');
  if (typeof named !== 'string')
    note('todo', place, 'Its region is AWS_REGION: set it, or write the region.');
  const token = params.aws_web_identity_token;
  const isFile = typeof token === 'string' && isAbsolute(token);
  if (typeof token === 'string' && !isFile)
    note(
      'todo',
      `${place}.litellm_params.aws_web_identity_token`,
      'Name the file that holds the token: auth.webIdentityTokenFile.',
    );
  const auth = {
    type: 'aws' as const,
    ...Object.fromEntries(texts(params, AWS)),
    ...(isFile ? { webIdentityTokenFile: token } : {}),
  };
  const isVendorless = id.startsWith('arn:') || !/^(?:[a-z]{2,6}\.|global\.)?[a-z0-9]+\.[a-z]/.test(id);
  if (isVendorless)
    note('changed', place, "Its id does not say whose model it is: it is asked by Bedrock's Converse.");
  return {
    channel: { provider: 'bedrock', region, ...(params.api_key ? {} : { auth }) },
    route: { model: id, ...(isVendorless || way === 'converse_like' ? { speaks: ['converse'] } : {}) },
    used: [...Object.keys(AWS), 'aws_region_name', 'aws_web_identity_token'],
  };
}

function onGoogle({ params, model, place }: KnownDeployment, note: TakeNote): Place {
  const { vertex_project: project, vertex_location: location, vertex_credentials: credentials } = params;
  const isFile = typeof credentials === 'string' && isAbsolute(credentials);
  const isVariable = typeof credentials === 'string' && credentials.startsWith('os.environ/');
  if (credentials !== undefined && credentials !== null && !isFile)
    note(
      'todo',
      `${place}.litellm_params.vertex_credentials`,
      'auth.credentialsFile is the absolute path of a file with the credentials: put them into one.',
    );
  const file = isFile || isVariable ? { credentialsFile: carried(credentials) } : {};
  if (typeof project !== 'string' || typeof location !== 'string')
    note(
      'todo',
      place,
      'Its project or location is that of VERTEXAI_PROJECT and VERTEXAI_LOCATION: set them, or write them.',
    );
  return {
    channel: {
      provider: 'vertex',
      project: typeof project === 'string' ? carried(project) : variable('VERTEXAI_PROJECT'),
      location: typeof location === 'string' ? carried(location) : variable('VERTEXAI_LOCATION'),
      auth: { type: 'google', ...file },
    },
    route: { model: model.replace(/^gemini\//, '') },
    used: ['vertex_project', 'vertex_location', 'vertex_credentials'],
  };
}

const ENTRA = { tenant_id: 'tenantId', client_id: 'clientId', client_secret: 'clientSecret' } as const;

function entraOf(params: Params): Pick<ChannelEntry, 'auth'> {
  const given = Object.fromEntries(texts(params, ENTRA));
  return params.api_key || Object.keys(given).length < 3 ? {} : { auth: { type: 'entra', ...given } };
}

function onAzure({ params, model, place }: KnownDeployment, note: TakeNote): Place {
  const address = params.api_base ?? params.base_url;
  if (!address) note('todo', place, 'Its address is AZURE_API_BASE: set it, or write it.');
  const baseUrl = address
    ? carried(address).replace(/\/(?:openai(?:\/.*)?)?$/, '')
    : variable('AZURE_API_BASE');
  return {
    channel: { provider: 'azure-openai', baseUrl, ...entraOf(params) },
    route: { model: withoutWords(model) },
    used: Object.keys(ENTRA),
  };
}

const FOUNDRY_HOST = /^https:\/\/([A-Za-z0-9-]{1,63})\.services\.ai\.azure\.com(?:\/|$)/;

function onFoundry({ params, model, place }: KnownDeployment, note: TakeNote): Place | null {
  const address = params.api_base ?? params.base_url;
  if (!address) {
    note('left', place, "The provider 'azure_ai' needs an api_base.");
    return null;
  }
  const [, resource] = FOUNDRY_HOST.exec(address) ?? [];
  if (resource === undefined) {
    note('changed', place, 'It is reached as openai-compatible: check the address.');
    const baseUrl = carried(address).replace(/\/+$/, '');
    return { channel: { provider: 'openai-compatible', baseUrl }, route: { model }, used: [] };
  }
  return {
    channel: { provider: 'foundry', resource, ...entraOf(params) },
    route: { model, ...(model.startsWith('claude-') ? { speaks: ['messages'] } : {}) },
    used: Object.keys(ENTRA),
  };
}
