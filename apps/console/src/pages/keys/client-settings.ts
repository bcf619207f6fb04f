interface ClientSettings {
  readonly client: string;
  /** Where it belongs. */
  readonly place: string;
  readonly text: string;
}

interface SettingsFacts {
  /** Without a slash at its end. */
  readonly publicUrl: string;
  readonly key: string;
  /** Models that the key may use, of either family. */
  readonly model: string;
}

interface ClientFacts {
  /** Without a slash at its end. */
  readonly publicUrl: string;
  /** An expression of TypeScript: a text in quotes, or where it is found. */
  readonly key: string;
}

/** OpenAI's client in TypeScript, as the constant `openai`. */
export const openaiClient = ({ publicUrl, key }: ClientFacts): string => `import OpenAI from 'openai';

const openai = new OpenAI({
  baseURL: '${publicUrl}/v1',
  apiKey: ${key},
});`;

/** Anthropic's client in TypeScript, as the constant `anthropic`. */
export const anthropicClient = ({
  publicUrl,
  key,
}: ClientFacts): string => `import Anthropic from '@anthropic-ai/sdk';

const anthropic = new Anthropic({
  baseURL: '${publicUrl}',
  apiKey: ${key},
});`;

/** Ready settings for the clients that people use most. */
export const clientSettings = ({ publicUrl, key, model }: SettingsFacts): readonly ClientSettings[] => [
  {
    client: 'curl',
    place: 'In a terminal',
    text: `curl ${publicUrl}/v1/responses \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'content-type: application/json' \\
  -d '{"model":"${model}","input":"Say hello."}'`,
  },
  {
    client: 'OpenAI',
    place: 'TypeScript, with the package openai; in Python, pass base_url and api_key',
    text: `${openaiClient({ publicUrl, key: `'${key}'` })}
await openai.responses.create({ model: '${model}', input: 'Say hello.' });`,
  },
  {
    client: 'Anthropic',
    place: 'TypeScript, with the package @anthropic-ai/sdk; in Python, pass base_url and api_key',
    text: `${anthropicClient({ publicUrl, key: `'${key}'` })}
await anthropic.messages.create({
  model: '${model}',
  max_tokens: 256,
  messages: [{ role: 'user', content: 'Say hello.' }],
});`,
  },
  {
    client: 'Codex',
    place: `~/.codex/config.toml, with GATEWAY_KEY=${key} in the environment`,
    text: `model = "${model}"
model_provider = "gateway"

[model_providers.gateway]
name = "Gateway"
base_url = "${publicUrl}/v1"
env_key = "GATEWAY_KEY"
wire_api = "responses"
supports_websockets = true`,
  },
  {
    client: 'Claude Code',
    place: 'In a terminal, or in the environment of your shell',
    text: `export ANTHROPIC_BASE_URL=${publicUrl}
export ANTHROPIC_AUTH_TOKEN=${key}
export ANTHROPIC_MODEL=${model}
claude`,
  },
];
