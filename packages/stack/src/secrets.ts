import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '@gateway/contracts/environment';

/** Prefixes show people which secret it is. `gwk_` is not among them: it belongs to keys with a checksum. */
const random = () => randomBytes(32).toString('base64url');

/** Each in a file of its own below `secrets/` in the data folder, so that it stays the same after a restart. */
const SECRETS = {
  secret: { file: 'gateway-secret', variable: 'GATEWAY_SECRET', make: random },
  bootstrapKey: { file: 'bootstrap-key', variable: 'GATEWAY_BOOTSTRAP_KEY', make: () => `gwb_${random()}` },
  adminToken: { file: 'admin-token', variable: 'GATEWAY_ADMIN_TOKEN', make: () => `gwa_${random()}` },
  webhookSecret: { file: 'webhook-secret', variable: 'WEBHOOK_SECRET', make: random },
  redisPassword: { file: 'redis-password', variable: null, make: random },
} as const;

type SecretName = keyof typeof SECRETS;
export type Secrets = Readonly<Record<SecretName, string>>;

/** Where a secret is, for messages that do not show it: the variable that sets it, or its file. */
export function sourceOf(
  name: 'bootstrapKey' | 'adminToken',
  dataFolder: string,
  env: Environment,
): SecretSource {
  const { variable, file } = SECRETS[name];
  return env[variable] ? { variable } : { file: join(dataFolder, 'secrets', file) };
}
export type SecretSource = { readonly variable: string } | { readonly file: string };

/** Secrets come from the environment, else from the data folder, else they are made and stored there (mode 600). */
export async function loadSecrets(dataFolder: string, env: Environment): Promise<Secrets> {
  const folder = join(dataFolder, 'secrets');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const load = async (name: SecretName): Promise<string> => {
    const { file, variable, make } = SECRETS[name];
    const given = variable === null ? undefined : env[variable];
    return given ? given : await kept(join(folder, file), make);
  };
  return {
    secret: await load('secret'),
    bootstrapKey: await load('bootstrapKey'),
    adminToken: await load('adminToken'),
    webhookSecret: await load('webhookSecret'),
    redisPassword: await load('redisPassword'),
  };
}

async function kept(file: string, make: () => string): Promise<string> {
  const old = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (old) return old;
  const value = make();
  // Written to another file and moved, so that no reader sees half a secret.
  await writeFile(`${file}.new`, `${value}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return value;
}
