import { requestPath } from '@gateway/upstream/requests/operation-path';
import { type Asked, type Heard, isObject } from './ask.ts';
import { type Finding, isAnswered, type Question, short, speaks, type Target, takenOr } from './question.ts';

const VERSION = '2023-06-01';
const NEWER_VERSION = '2026-10-21';
const SMALL = { max_tokens: 16, messages: [{ role: 'user', content: 'Say yes.' }] };
/** Those of November's clients, and features that a company would want. */
const BETAS = [
  ...['claude-code-20250219', 'interleaved-thinking-2025-05-14', 'context-1m-2025-08-07'],
  ...['context-management-2025-06-27', 'effort-2025-11-24', 'tool-search-tool-2025-10-19'],
  ...['advanced-tool-use-2025-11-20', 'fine-grained-tool-streaming-2025-05-14'],
  ...['extended-cache-ttl-2025-04-11', 'prompt-caching-scope-2026-01-05', 'structured-outputs-2025-11-13'],
];

interface Message {
  readonly [member: string]: unknown;
}

/** A Messages request in the form that the channel's platform has. */
function messages(
  { channel, route, model }: Target,
  more: Message = {},
  { betas = [], version }: { betas?: readonly string[]; version?: string } = {},
): Asked {
  const { envelope } = route.quirks;
  const inPath = typeof channel.paths.messages === 'object';
  const inBody = envelope?.betas === 'body';
  return {
    path: requestPath({ channel, model }, { operation: 'messages' }, false),
    headers: {
      ...(envelope === null && { 'anthropic-version': version ?? VERSION }),
      ...(betas.length > 0 && !inBody && { 'anthropic-beta': betas.join(',') }),
    },
    body: {
      ...(envelope !== null && { anthropic_version: version ?? envelope.version }),
      ...(betas.length > 0 && inBody && { anthropic_beta: betas }),
      ...(!inPath && { model }),
      ...SMALL,
      ...more,
    },
  };
}

const isArn = ({ model }: Target): boolean => model.startsWith('arn:');

/** Asks for each of these by itself, and names those that are refused. */
async function refusedOf(
  target: Target,
  names: readonly string[],
  form: (name: string) => Asked,
): Promise<{ readonly refused: readonly string[]; readonly unclear: Heard | null }> {
  const refused: string[] = [];
  let unclear: Heard | null = null;
  for (const name of names) {
    const heard = await target.ask(form(name));
    if (heard.status === 400) refused.push(name);
    else if (!isAnswered(heard)) unclear = heard;
  }
  return { refused, unclear };
}

const listed = ({ refused, unclear }: Awaited<ReturnType<typeof refusedOf>>, set: string): Finding =>
  unclear === null
    ? {
        answer: refused.length === 0 ? 'yes' : 'no',
        found: refused.length === 0 ? 'all are taken' : `refused: ${refused.join(', ')}`,
        ...(refused.length > 0 && { set: `quirks: { ${set}: [${refused.join(', ')}] }` }),
      }
    : { answer: 'unclear', found: short(unclear) };

/** The features of requests that a platform may refuse, each with a body that has it. */
const FEATURES: Readonly<Record<string, Message>> = {
  'output_config.format': {
    output_config: {
      format: {
        type: 'json_schema',
        schema: { type: 'object', properties: {}, additionalProperties: false },
      },
    },
  },
  'output_config.effort': { output_config: { effort: 'low' } },
  'tools.*.strict': {
    tools: [
      {
        name: 'f',
        input_schema: { type: 'object', properties: {}, additionalProperties: false },
        strict: true,
      },
    ],
  },
  service_tier: { service_tier: 'auto' },
  context_management: { context_management: { edits: [] } },
};

const THOUGHT = {
  max_tokens: 2048,
  thinking: { type: 'adaptive' },
  messages: [{ role: 'user', content: 'What is 27 times 43? Think first.' }],
};

/** Whether Claude's thinking of one platform is taken by another one. */
export async function thinkingBetween(from: Target, to: Target): Promise<Finding> {
  const first = await from.ask(messages(from, THOUGHT));
  const { content } = first.json;
  if (!isAnswered(first) || !Array.isArray(content))
    return { answer: 'unclear', found: `first answer: ${short(first)}` };
  if (!content.some((block) => isObject(block) && block.type === 'thinking'))
    return { answer: 'unclear', found: 'the first answer has no thinking' };
  const turns = [
    ...THOUGHT.messages,
    { role: 'assistant', content },
    { role: 'user', content: 'And plus one?' },
  ];
  return takenOr(await to.ask(messages(to, { ...THOUGHT, messages: turns })));
}

export const isClaude = speaks('messages');

export const CLAUDE_QUESTIONS: readonly Question[] = [
  {
    name: 'profile-on-messages',
    asks: "Does Bedrock's native Messages path take the ARN of a profile?",
    isFor: (target) => target.channel.provider === 'bedrock' && isArn(target),
    settle: async ({ ask, model }) => {
      const heard = await ask({
        path: '/anthropic/v1/messages',
        headers: { 'anthropic-version': VERSION },
        body: { model, ...SMALL },
      });
      const finding = takenOr(heard);
      return finding.answer === 'yes'
        ? {
            ...finding,
            set: 'endpoint: runtime, and speaks: [messages] in the route; endpoint: invoke is not needed',
          }
        : finding;
    },
  },
  {
    name: 'newer-version',
    asks: `Is Anthropic's version ${NEWER_VERSION} taken?`,
    isFor: isClaude,
    settle: async (target) => takenOr(await target.ask(messages(target, {}, { version: NEWER_VERSION }))),
  },
  {
    name: 'betas',
    asks: 'Are the betas of present clients taken?',
    isFor: isClaude,
    settle: async (target) =>
      listed(
        await refusedOf(target, BETAS, (beta) => messages(target, {}, { betas: [beta] })),
        'refusedBetas',
      ),
  },
  {
    name: 'members',
    asks: 'Are structured output, effort, strict tools, service tiers and context management taken?',
    isFor: isClaude,
    settle: async (target) =>
      listed(
        await refusedOf(target, Object.keys(FEATURES), (name) => messages(target, FEATURES[name])),
        'refusedMembers',
      ),
  },
  {
    name: 'rate-limit-headers',
    asks: 'Does Foundry send headers about rate limits for Claude?',
    isFor: speaks('messages', 'foundry', 'azure-openai'),
    settle: async (target) => {
      const heard = await target.ask(messages(target));
      const names = [...heard.headers.keys()].filter((name) => name.includes('ratelimit'));
      if (!isAnswered(heard)) return { answer: 'unclear', found: short(heard) };
      return {
        answer: names.length > 0 ? 'yes' : 'no',
        found: names.join(', ') || 'none of its headers is about one',
      };
    },
  },
  {
    name: 'role-for-claude',
    asks: "May this channel's identity call Claude at Foundry? (The role that it has, such as Cognitive Services User, is then enough.)",
    isFor: speaks('messages', 'foundry', 'azure-openai'),
    settle: async (target) => {
      const heard = await target.ask(messages(target));
      const answer = isAnswered(heard)
        ? 'yes'
        : heard.status === 401 || heard.status === 403
          ? 'no'
          : 'unclear';
      return { answer, found: short(heard) };
    },
  },
];
