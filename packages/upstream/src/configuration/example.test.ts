import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Price } from '@gateway/contracts/models/price';
import { expect, test } from 'vitest';
import { AlertsEntry } from './alerts-entry.ts';
import { AuthEntry } from './auth-entry.ts';
import { ContentLogEntry } from './content-log-entry.ts';
import {
  ChannelEntry,
  ConversationsEntry,
  CooldownEntry,
  ImageFamily,
  ModelEntry,
  RouteEntry,
} from './file-schema.ts';
import { HookEntry } from './hooks-entry.ts';
import { loadConfiguration } from './load-configuration.ts';

const path = fileURLToPath(new URL('../../../../gateway.example.yaml', import.meta.url));
const env = {
  OPENAI_API_KEY: 'sk-openai-0000',
  OPENAI_PROJECT: 'proj_0000',
  ANTHROPIC_API_KEY: 'sk-ant-0000',
  ANTHROPIC_BATCH_KEY: 'k',
  AZURE_OPENAI_API_KEY: 'azure-0000',
  AZURE_TENANT_ID: 'tenant',
  AZURE_CLIENT_ID: 'client',
  AZURE_CLIENT_SECRET: 'secret-0000',
  ELEVENLABS_API_KEY: 'eleven-0000',
  BFL_API_KEY: 'bfl-0000',
  PROXY_PASSWORD: 'proxy-0000',
};

test('the example is a valid configuration', async () => {
  const configuration = await loadConfiguration({ path, env });
  expect(configuration.source).toBe('file');
  expect([...configuration.channels.keys()]).toContain('azure');
  expect(configuration.channels.get('azure')?.paths.responses).toBe('/openai/v1/responses');
  expect(configuration.models.map(({ pattern }) => pattern)).toContain('claude-*');
});

test('the example shows every setting that exists', async () => {
  const text = await readFile(path, 'utf8');
  const settings = [
    ChannelEntry,
    ChannelEntry.shape.timeouts.unwrap(),
    CooldownEntry,
    ModelEntry,
    ModelEntry.shape.fallback.unwrap(),
    ModelEntry.shape.hedge.unwrap(),
    RouteEntry,
    Price,
    ImageFamily,
    ConversationsEntry,
    ConversationsEntry.shape.neverKept.unwrap(),
    ...AuthEntry.options,
    ContentLogEntry,
    ContentLogEntry.shape.rules.element,
    HookEntry,
    HookEntry.shape.rules.unwrap().element,
    HookEntry.shape.guardrail.unwrap(),
    AlertsEntry,
    AlertsEntry.shape.thresholds.unwrap(),
    AlertsEntry.shape.quietHours.unwrap(),
    AlertsEntry.shape.weeklyReport.unwrap(),
    AlertsEntry.shape.rules.unwrap().element,
    ...AlertsEntry.shape.receivers.unwrap().valueType.options,
  ];
  for (const name of settings.flatMap(({ shape }) => Object.keys(shape))) {
    // perMinute and similar settings are within braces
    expect(text, name).toMatch(new RegExp(`\\b${name}: `.replace(/ $/, '(?: |\\n)')));
  }
});
