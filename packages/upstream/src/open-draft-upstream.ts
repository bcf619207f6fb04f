import type { Environment } from '@gateway/contracts/environment';
import { DEFAULT_URL_VARIABLE } from '@gateway/redis/place/redis-url';
import { loadConfiguration } from './configuration/load-configuration.ts';
import type { ShelvedDraft } from './configuration/stored/draft-shelf.ts';
import { openedEnvironment } from './configuration/stored/opened-environment.ts';
import type { SealedValues } from './configuration/stored/sealed-values.ts';
import { createUpstream, type Upstream } from './upstream.ts';

interface DraftUpstreamOptions {
  readonly draft: ShelvedDraft;
  readonly values: SealedValues;
  /** What mistakes name, and where certificates are looked for from. */
  readonly path: string;
  readonly env: Environment;
}

/** What opens the gateway itself. No provider needs it, and whoever writes a draft chooses where its requests go. */
const OWN_SECRETS = [
  'GATEWAY_SECRET',
  'GATEWAY_ADMIN_TOKEN',
  'GATEWAY_BOOTSTRAP_KEY',
  'ADMIN_INSTANCE_KEY',
  'DATABASE_URL',
  'REDIS_URL',
  DEFAULT_URL_VARIABLE,
  'REDIS_PASSWORD',
  'WEBHOOK_SECRET',
  'OIDC_CLIENT_SECRET',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
] as const;

/**
 * The providers of a draft, for one request: with connections of their own, and apart from what the process knows of the channels in
 * use. So nothing of them rests, none of their attempts count, and no replica hears of them. Destroy it after the request.
 *
 * @throws {ConfigurationError} naming every mistake of the draft, such as a variable that is not set here
 */
export async function openDraftUpstream({
  draft: { text, secrets },
  values,
  path,
  env,
}: DraftUpstreamOptions): Promise<Upstream> {
  const outside = { ...env, ...Object.fromEntries(OWN_SECRETS.map((name) => [name, undefined])) };
  const stored = {
    ...{ text, revision: 'draft', number: 0, atMs: 0 },
    env: openedEnvironment({ secrets, values, env: outside }),
  };
  const configuration = await loadConfiguration({ path, env, stored: { read: async () => stored } });
  return createUpstream({ configuration });
}
