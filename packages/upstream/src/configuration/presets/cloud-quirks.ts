import type { QuirksInput } from '@gateway/contracts/quirks';

/** What Claude Code sends to Anthropic alone. */
const CACHE_SCOPES = [
  'cache_control.scope',
  'system.*.cache_control.scope',
  'tools.*.cache_control.scope',
  'messages.*.content.*.cache_control.scope',
  'messages.*.content.*.content.*.cache_control.scope',
];

/** What Anthropic runs or routes itself. */
const ANTHROPICS_OWN = ['inference_geo', 'fallbacks', 'mcp_servers', 'container'];

export const CLAUDE_ON_BEDROCK = {
  ownValues: false,
  compaction: true,
  structuredOutput: 'none',
  strictTools: false,
  userIds: 'plain',
  refusedBetas: ['prompt-caching-scope-2026-01-05'],
  refusedMembers: [
    ...CACHE_SCOPES,
    ...ANTHROPICS_OWN,
    'output_format',
    'output_config.format',
    'tools.*.strict',
  ],
  renamedMembers: { 'thinking.block_binding.prefix_mismatch_behavior': 'mismatch_behavior' },
} as const satisfies QuirksInput;

/** By InvokeModel, which takes the betas of the model's own list and refuses all others. */
export const CLAUDE_BY_INVOKE = {
  ...CLAUDE_ON_BEDROCK,
  envelope: { version: 'bedrock-2023-05-31', betas: 'body', stream: 'path' },
  refusedBetas: [
    ...CLAUDE_ON_BEDROCK.refusedBetas,
    'claude-code-*',
    'advanced-tool-use-*',
    'structured-outputs-*',
    'mcp-*',
    'web-*',
    'files-api-*',
    'code-execution-*',
    'skills-*',
    'oauth-*',
  ],
  refusedMembers: [...CLAUDE_ON_BEDROCK.refusedMembers, 'service_tier', 'tools.*.eager_input_streaming'],
} as const satisfies QuirksInput;

export const CLAUDE_ON_VERTEX = {
  ownValues: false,
  envelope: { version: 'vertex-2023-10-16' },
  countBetas: false,
  refusedBetas: [
    'prompt-caching-scope-2026-01-05',
    'effort-2025-11-24',
    'structured-outputs-2025-*',
    'web-search-*',
    'oauth-*',
  ],
  refusedMembers: [...CACHE_SCOPES, ...ANTHROPICS_OWN, 'output_format'],
} as const satisfies QuirksInput;

/** OpenAI's and xAI's models away from their makers: nothing is stored there. */
export const OPENAI_ELSEWHERE = {
  ownValues: false,
  maxTokensMember: 'max_completion_tokens',
  instructionRole: 'developer',
} as const satisfies QuirksInput;
