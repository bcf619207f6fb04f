import type { Environment } from '@gateway/contracts/environment';
import type { AuthEntry } from '@gateway/upstream/configuration/auth-entry';
import { SETTING_NAMES, type SettingName } from '@gateway/upstream/configuration/channel-settings';
import type { Preset } from '@gateway/upstream/configuration/presets/preset';
import { PRESETS, type Provider } from '@gateway/upstream/configuration/presets/presets';

/** The providers that `init` connects by a key, and the variable that their own libraries read it from. */
export const KEY_VARIABLES = {
  openai: 'OPENAI_API_KEY',
  anthropic: 'ANTHROPIC_API_KEY',
  gemini: 'GEMINI_API_KEY',
  mistral: 'MISTRAL_API_KEY',
  groq: 'GROQ_API_KEY',
  deepseek: 'DEEPSEEK_API_KEY',
  openrouter: 'OPENROUTER_API_KEY',
  xai: 'XAI_API_KEY',
  cohere: 'COHERE_API_KEY',
  'azure-openai': 'AZURE_OPENAI_API_KEY',
  foundry: 'AZURE_API_KEY',
  bedrock: 'AWS_BEARER_TOKEN_BEDROCK',
  'anthropic-aws': 'ANTHROPIC_AWS_API_KEY',
  vertex: 'VERTEX_API_KEY',
} as const satisfies Partial<Record<Provider, string>>;

export type Offered = keyof typeof KEY_VARIABLES;

export const OFFERED = Object.keys(KEY_VARIABLES).join(', ');
export const isOffered = (name: string): name is Offered => Object.hasOwn(KEY_VARIABLES, name);

/** The variable that a provider's key is usually in. */
export const usualVariable = (provider: string): string =>
  isOffered(provider)
    ? KEY_VARIABLES[provider]
    : `${provider.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')}_API_KEY`;

/** What says where a channel is at its cloud, and has to be known. */
export function placeSettings(provider: Provider, hasBaseUrl: boolean): SettingName[] {
  const { settings = {} }: Preset = PRESETS[provider];
  return SETTING_NAMES.filter(
    (name) => settings[name] === 'required' || (settings[name] === 'unless-base-url' && !hasBaseUrl),
  );
}

/** `${NAME}`, as the configuration has it. */
export const reference = (variable: string): string => `\${${variable}}`;

/** A company's own identity at Microsoft, where the environment has one as Azure's own tools read it; else that of the machine. */
function entraIdentity(env: Environment): AuthEntry {
  const [secret] = (['AZURE_FEDERATED_TOKEN_FILE', 'AZURE_CLIENT_SECRET'] as const).filter(
    (name) => env[name],
  );
  if (secret === undefined || !env.AZURE_TENANT_ID || !env.AZURE_CLIENT_ID)
    return { type: 'entra', managedIdentity: true };
  const who = { tenantId: reference('AZURE_TENANT_ID'), clientId: reference('AZURE_CLIENT_ID') };
  return secret === 'AZURE_CLIENT_SECRET'
    ? { type: 'entra', ...who, clientSecret: reference(secret) }
    : { type: 'entra', ...who, federatedTokenFile: reference(secret) };
}

/** Whose credentials serve at a provider in place of a key; null: it has keys only. */
export function identityType({ auth }: Preset): 'aws' | 'google' | 'entra' | null {
  const type = auth?.types?.[0];
  return type === undefined || type === 'oauth' ? null : type;
}

/** The credentials that a cloud gives this machine, which serve in place of a key; null: this provider has keys only. */
export function machineIdentity(provider: Provider, env: Environment): AuthEntry | null {
  const type = identityType(PRESETS[provider]);
  if (type === null) return null;
  return type === 'entra' ? entraIdentity(env) : { type };
}
