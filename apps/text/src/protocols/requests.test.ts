import { readdirSync, readFileSync } from 'node:fs';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { QuirksInput } from '@gateway/contracts/quirks';
import { CONVERSATION_PROTOCOLS, type ConversationProtocol } from '@gateway/upstream/protocol';
import { expect, test } from 'vitest';
import { translateRequest } from '../conversion/translate-request.ts';
import type { Target } from '../neutral/target.ts';
import { testTarget, testTokens } from '../testing/test-context.ts';
import { CALLERS } from '../testing/test-streams.ts';
import { formatPath } from '../wire/path.ts';
import { parseBody } from '../wire/raw-json.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';

const FOLDER = new URL('./fixtures/requests/', import.meta.url);

const readFixture = (name: string): unknown =>
  parseBody(readFileSync(new URL(`${name}.json`, FOLDER), 'utf8'));

const callerOf = (name: string): TextProtocol => {
  const caller = CALLERS.find((protocol) => name.startsWith(`${protocol}-`));
  if (caller === undefined) throw new Error(`${name} does not begin with a protocol`);
  return caller;
};

/** What becomes of a request, in a form to read: the upstream's body, or why there is none. */
function outcome(name: string, target: Target): string {
  const shown = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
  try {
    const { body, dropped, plan } = translateRequest({
      caller: callerOf(name),
      body: readFixture(name),
      target,
      tokens: testTokens,
    });
    const { tools, stopSequences, answerTool } = plan.restore;
    const { answeredWhole } = plan;
    return shown({
      dropped: dropped.map(({ path, reason }) => `${formatPath(path)}: ${reason}`),
      restore: { tools: Object.fromEntries(tools), stopSequences, answerTool },
      answeredWhole,
      body,
    });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return shown({
      refused: error.code,
      at: formatPath(error.options.path ?? []),
      message: error.options.message,
    });
  }
}

const names = readdirSync(FOLDER)
  .map((file) => file.replace(/\.json$/, ''))
  .sort();
const cases = names.flatMap((name) => CONVERSATION_PROTOCOLS.map((target) => ({ name, target })));

test.for(cases)('$name is written for an upstream of $target as recorded', async ({ name, target }) => {
  await expect(outcome(name, testTarget(target))).toMatchFileSnapshot(
    `golden/requests/${name}.to-${target}.json`,
  );
});

interface QuirkCase {
  readonly quirk: string;
  readonly name: string;
  readonly target: ConversationProtocol;
  readonly quirks?: QuirksInput;
  readonly more?: Partial<Target>;
}

const CLAUDE: QuirksInput = {
  reasoningVendor: 'anthropic',
  reasoningRequest: 'thinking',
  topKMember: 'top_k',
};
const NOVA: QuirksInput = {
  reasoningRequest: 'reasoningConfig',
  efforts: ['none', 'low', 'medium', 'high'],
  topKMember: 'inferenceConfig.topK',
  cachePoints: ['system', 'messages'],
  structuredOutput: 'none',
};

const ON_CONVERSE: readonly (readonly [quirk: string, name: string, quirks: QuirksInput])[] = [
  ['claude', 'messages-scalars', CLAUDE],
  ['claude', 'messages-thinking-manual', CLAUDE],
  ['claude', 'responses-effort-medium', CLAUDE],
  ['claude', 'messages-tools', CLAUDE],
  ['nova', 'messages-scalars', NOVA],
  ['nova', 'messages-tools', NOVA],
  ['nova', 'responses-effort-medium', NOVA],
  ['nova', 'responses-effort-max', NOVA],
  ['nova', 'responses-effort-none', NOVA],
  ['nova', 'chat-structured-output', NOVA],
  ['nova-grounding', 'messages-web-search', { ...NOVA, webSearch: 'nova_grounding' }],
  ['gpt-oss', 'responses-effort-medium', { reasoningRequest: 'reasoning_effort' }],
  [
    'gpt',
    'responses-effort-medium',
    { reasoningRequest: 'reasoning', sampling: 'drop', maxStopSequences: 0 },
  ],
  ['gpt', 'chat-scalars', { reasoningRequest: 'reasoning', sampling: 'drop', maxStopSequences: 0 }],
  ['claude', 'messages-cited-documents', CLAUDE],
  ['free-choice', 'messages-tool-choice-any', { demandedCalls: false }],
  ['free-choice', 'messages-tool-choice-named', { demandedCalls: false }],
  ['free-choice', 'chat-allowed-tools', { demandedCalls: false }],
  ['free-choice', 'chat-structured-output', { demandedCalls: false, structuredOutput: 'none' }],
  ['no-system', 'messages-system-blocks', { systemPrompt: false, cachePoints: [] }],
  ['system-anywhere', 'messages-system-blocks', { systemMessages: 'anywhere' }],
  [
    'whole-tools',
    'messages-tools',
    { streamedTools: false, strictTools: false, toolCallIds: 'nine-alphanumeric' },
  ],
];

const CONVERSE_CASES = ON_CONVERSE.map(([quirk, name, quirks]) => ({
  quirk,
  name,
  target: 'converse' as const,
  quirks,
}));

const QUIRK_CASES: readonly QuirkCase[] = [
  { quirk: 'older-schemas', name: 'messages-tools', target: 'gemini', quirks: { jsonSchema: false } },
  { quirk: 'older-schemas', name: 'responses-codex', target: 'gemini', quirks: { jsonSchema: false } },
  {
    quirk: 'older-schemas',
    name: 'responses-structured-output',
    target: 'gemini',
    quirks: { jsonSchema: false },
  },
  {
    quirk: 'budgets',
    name: 'messages-thinking-manual',
    target: 'gemini',
    quirks: { thinking: 'manual' },
  },
  { quirk: 'budgets', name: 'responses-effort-medium', target: 'gemini', quirks: { thinking: 'manual' } },
  { quirk: 'budgets', name: 'responses-effort-none', target: 'gemini', quirks: { thinking: 'manual' } },
  {
    quirk: 'always-thinking-budgets',
    name: 'responses-effort-none',
    target: 'gemini',
    quirks: { thinking: 'manual', thinkingCanBeDisabled: false },
  },
  { quirk: 'no-thinking', name: 'responses-effort-medium', target: 'gemini', quirks: { thinking: 'none' } },
  {
    quirk: 'texts-in-results',
    name: 'messages-full',
    target: 'gemini',
    quirks: { toolResultMedia: false, toolCallIds: 'none' },
  },
  { quirk: 'no-strict', name: 'messages-tools', target: 'gemini', quirks: { strictTools: false } },
  {
    quirk: 'max-completion-tokens',
    name: 'messages-scalars',
    target: 'chat',
    quirks: { maxTokensMember: 'max_completion_tokens' },
  },
  { quirk: 'no-stream-options', name: 'messages-scalars', target: 'chat', quirks: { streamOptions: false } },
  {
    quirk: 'refused-members',
    name: 'responses-scalars',
    target: 'chat',
    quirks: { refusedMembers: ['verbosity', 'service_tier', 'stream_options'] },
  },
  {
    quirk: 'meaningful-member-refused',
    name: 'chat-json-object',
    target: 'chat',
    quirks: { refusedMembers: ['response_format'] },
  },
  { quirk: 'no-sampling', name: 'chat-scalars', target: 'responses', quirks: { sampling: 'drop' } },
  { quirk: 'no-sampling', name: 'chat-scalars', target: 'messages', quirks: { sampling: 'drop' } },
  { quirk: 'no-penalties', name: 'chat-scalars', target: 'chat', quirks: { penalties: false } },
  { quirk: 'few-stop-sequences', name: 'chat-scalars', target: 'chat', quirks: { maxStopSequences: 2 } },
  {
    quirk: 'developer-role',
    name: 'messages-system-blocks',
    target: 'chat',
    quirks: { instructionRole: 'developer' },
  },
  {
    quirk: 'system-first',
    name: 'messages-system-blocks',
    target: 'chat',
    quirks: { systemMessages: 'first', mergeMessages: true },
  },
  {
    quirk: 'system-anywhere',
    name: 'messages-system-blocks',
    target: 'messages',
    quirks: { systemMessages: 'anywhere' },
  },
  { quirk: 'no-strict', name: 'messages-tools', target: 'chat', quirks: { strictTools: false } },
  {
    quirk: 'no-strict',
    name: 'messages-tools',
    target: 'responses',
    quirks: { strictTools: false, parallelToolCalls: false },
  },
  { quirk: 'custom-tools', name: 'responses-codex', target: 'chat', quirks: { customTools: true } },
  { quirk: 'short-names', name: 'messages-tools', target: 'messages', quirks: { toolNameLength: 32 } },
  {
    quirk: 'nine-alphanumeric-ids',
    name: 'messages-tools',
    target: 'chat',
    quirks: { toolCallIds: 'nine-alphanumeric' },
  },
  {
    quirk: 'web-search-options',
    name: 'chat-web-search',
    target: 'chat',
    quirks: { webSearch: 'web_search_options' },
  },
  {
    quirk: 'web-search-preview',
    name: 'messages-web-search',
    target: 'responses',
    quirks: { webSearch: 'web_search_preview' },
  },
  {
    quirk: 'json-object-only',
    name: 'messages-structured-output',
    target: 'chat',
    quirks: { structuredOutput: 'object' },
  },
  {
    quirk: 'no-structured-output',
    name: 'responses-json-object',
    target: 'chat',
    quirks: { structuredOutput: 'none' },
  },
  {
    quirk: 'no-structured-output',
    name: 'responses-structured-output',
    target: 'messages',
    quirks: { structuredOutput: 'none' },
  },
  {
    quirk: 'few-efforts',
    name: 'responses-effort-max',
    target: 'chat',
    quirks: { efforts: ['low', 'high'] },
  },
  {
    quirk: 'few-efforts',
    name: 'messages-thinking-disabled',
    target: 'responses',
    quirks: { efforts: ['minimal', 'low'] },
  },
  { quirk: 'no-efforts', name: 'responses-scalars', target: 'chat', quirks: { efforts: [] } },
  {
    quirk: 'manual-thinking',
    name: 'responses-effort-medium',
    target: 'messages',
    quirks: { thinking: 'manual' },
  },
  {
    quirk: 'manual-thinking',
    name: 'responses-effort-none',
    target: 'messages',
    quirks: { thinking: 'manual' },
  },
  {
    quirk: 'manual-thinking-no-tokens',
    name: 'responses-scalars',
    target: 'messages',
    quirks: { thinking: 'manual' },
  },
  { quirk: 'no-thinking', name: 'responses-effort-medium', target: 'messages', quirks: { thinking: 'none' } },
  {
    quirk: 'always-thinking',
    name: 'responses-effort-none',
    target: 'messages',
    quirks: { thinkingCanBeDisabled: false },
  },
  {
    quirk: 'no-summary',
    name: 'messages-thinking-adaptive',
    target: 'responses',
    quirks: { reasoningSummary: false, encryptedReasoning: false },
  },
  { quirk: 'reasoning-back', name: 'chat-tools', target: 'chat', quirks: { reasoningBack: 'known' } },
  {
    quirk: 'guardrail',
    name: 'messages-thinking-adaptive',
    target: 'converse',
    more: { guardrail: { id: 'gr-1', version: 'DRAFT', trace: 'enabled' } },
  },
  {
    quirk: 'reasoning-required',
    name: 'messages-tools',
    target: 'chat',
    quirks: { reasoningBack: 'required' },
  },
  {
    quirk: 'tools-dropped',
    name: 'responses-file-search',
    target: 'chat',
    more: { dropUnavailableTools: true },
  },
  {
    quirk: 'named-tool-not-dropped',
    name: 'responses-web-search',
    target: 'chat',
    more: { dropUnavailableTools: true },
  },
  { quirk: 'tool-not-offered', name: 'messages-web-search', target: 'responses', more: { builtInTools: [] } },
  ...CONVERSE_CASES,
  { quirk: 'user-ids', name: 'messages-scalars', target: 'responses', more: { forwardUserIds: true } },
  { quirk: 'user-ids', name: 'responses-scalars', target: 'messages', more: { forwardUserIds: true } },
];

test.for(QUIRK_CASES)('$quirk: $name is written for an upstream of $target as recorded', async (entry) => {
  const target = testTarget(entry.target, entry.quirks, entry.more);
  await expect(outcome(entry.name, target)).toMatchFileSnapshot(
    `golden/quirks/${entry.quirk}.${entry.name}.to-${entry.target}.json`,
  );
});
