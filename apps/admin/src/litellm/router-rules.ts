import type { ChannelEntry } from '@gateway/upstream/configuration/file-schema';
import { z } from 'zod';
import { Alias, Fallbacks, LitellmFile, Reliability } from './litellm-file.ts';
import type { TakeNote } from './notes.ts';
import { reasonFor } from './reasons.ts';
import { HOOKS, OF_GENERAL, OF_LITELLM, OF_ROUTER } from './unsupported.ts';

/** What LiteLLM says for all models and channels. */
export interface RouterRules {
  /** A model, those that come after it, and where it stands in the file. */
  readonly fallbacks: readonly (readonly [from: string, models: readonly string[], place: string])[];
  /** Models that come after every one. */
  readonly defaults: readonly (readonly string[])[];
  readonly aliases: readonly (readonly [alias: string, model: string, place: string])[];
  readonly maxAttempts: number | null;
  readonly cooldown: NonNullable<ChannelEntry['cooldown']> | null;
  readonly totalMs: number | null;
}

const DefaultFallbacks = z.array(z.string().min(1));
const Aliases = z.record(z.string(), Alias);
const MS = 1000;

export function readRouterRules(file: LitellmFile, note: TakeNote): RouterRules {
  const read = new Set<string>();
  /** The member in either section, the router's first. */
  const member = <Schema extends z.ZodType>(name: string, schema: Schema) => {
    for (const section of ['router_settings', 'litellm_settings'] as const) {
      const value = file[section]?.[name];
      if (value === undefined || value === null) continue;
      read.add(`${section}.${name}`);
      const { data, success } = schema.safeParse(value);
      if (success) return { value: data, place: `${section}.${name}` };
      note('left', `${section}.${name}`, 'Its value is not of the expected type.');
    }
    return null;
  };
  const fallbacks = member('fallbacks', Fallbacks);
  const defaults = member('default_fallbacks', DefaultFallbacks);
  const aliases = member('model_group_alias', Aliases);
  const retries = member('num_retries', Reliability.num_retries);
  const fails = member('allowed_fails', Reliability.allowed_fails);
  const rest = member('cooldown_time', Reliability.cooldown_time);
  const off = member('disable_cooldowns', z.boolean());
  const timeout =
    member('timeout', Reliability.timeout) ?? member('request_timeout', Reliability.request_timeout);
  if (retries !== null)
    note(
      'changed',
      retries.place,
      'It is fallback.maxAttempts of each model: one more, and one more for each route of a fallback.',
    );
  if (fails !== null)
    note(
      'changed',
      fails.place,
      'It is cooldown.consecutiveFailures of each channel: failures in a row, where LiteLLM counts those of a minute.',
    );
  noteSections(file, read, note);
  return {
    fallbacks: (fallbacks?.value ?? []).map(([from, models]) => [from, models, fallbacks?.place ?? '']),
    defaults: defaults === null ? [] : [defaults.value],
    aliases: Object.entries(aliases?.value ?? {}).map(([alias, { model }]) => [
      alias,
      model,
      `${aliases?.place}.${alias}`,
    ]),
    maxAttempts: retries === null ? null : Math.max(1, Math.round(retries.value) + 1),
    cooldown: cooldownOf(fails?.value ?? null, rest?.value ?? null, off?.value === true),
    totalMs: timeout === null ? null : Math.max(1, Math.round(timeout.value * MS)),
  };
}

function cooldownOf(fails: number | null, seconds: number | null, isOff: boolean): RouterRules['cooldown'] {
  if (isOff) return 'off';
  if (fails === null && seconds === null) return null;
  return {
    ...(fails === null ? {} : { consecutiveFailures: Math.min(1000, Math.max(1, Math.round(fails) + 1)) }),
    ...(seconds === null || seconds <= 0 ? {} : { restSeconds: Math.min(86_400, seconds) }),
  };
}

const REASONS = [
  ['router_settings', OF_ROUTER],
  ['litellm_settings', OF_LITELLM],
  ['general_settings', OF_GENERAL],
] as const;

const SECTIONS = Object.keys(LitellmFile.shape);

function noteSections(file: LitellmFile, read: ReadonlySet<string>, note: TakeNote): void {
  for (const [section, reasons] of REASONS)
    for (const name of Object.keys(file[section] ?? {}))
      if (!read.has(`${section}.${name}`)) note('left', `${section}.${name}`, reasonFor(reasons, name));
  for (const name of Object.keys(file.environment_variables ?? {}))
    note(
      'todo',
      `environment_variables.${name}`,
      'Variables are set in the environment, or in the file .env.',
    );
  for (const name of Object.keys(file))
    if (!SECTIONS.includes(name)) note('left', name, reasonFor(OF_FILE, name));
}

const OF_FILE: Readonly<Record<string, string>> = {
  guardrails: HOOKS,
  mcp_servers: 'The gateway does not serve MCP.',
  vector_store_registry: 'The gateway has no vector stores of its own.',
  search_tools: 'The gateway has no search of its own.',
  prompts: 'The gateway keeps no prompts.',
  files_settings: 'The gateway does not pass files.',
  finetune_settings: 'The gateway does not pass fine-tuning.',
  assistant_settings: 'The gateway does not pass assistants.',
};
