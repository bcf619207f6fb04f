import type { HookSettings } from '@gateway/upstream/configuration/hooks';
import type { HookKind } from '@gateway/upstream/configuration/hooks-entry';
import type { Check, CheckedRequest, Verdict } from '../check.ts';
import { bedrock } from './bedrock.ts';
import { generic } from './generic.ts';
import { moderation } from './moderation.ts';

/** How one protocol of hooks is spoken. */
export interface HookAdapter {
  /** The body of a check, as JSON. */
  readonly request: (check: Check, request: CheckedRequest, hook: HookSettings) => unknown;
  /** @throws {HookFailure} for an answer that is none */
  readonly verdict: (answer: unknown, check: Check) => Verdict;
}

export const HOOK_ADAPTERS: Readonly<Record<HookKind, HookAdapter>> = { generic, moderation, bedrock };
