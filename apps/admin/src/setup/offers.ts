import type { Provider } from '@gateway/upstream/configuration/presets/presets';

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
} as const satisfies Partial<Record<Provider, string>>;

export type Offered = keyof typeof KEY_VARIABLES;

export const OFFERED = Object.keys(KEY_VARIABLES).join(', ');
export const isOffered = (name: string): name is Offered => Object.hasOwn(KEY_VARIABLES, name);

/** The variable that a provider's key is usually in. */
export const usualVariable = (provider: string): string =>
  isOffered(provider)
    ? KEY_VARIABLES[provider]
    : `${provider.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')}_API_KEY`;
