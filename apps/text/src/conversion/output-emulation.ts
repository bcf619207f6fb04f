import type { Conversation } from '../neutral/conversation.ts';
import { type Losses, refuseParameter } from '../neutral/losses.ts';
import { pathsOf } from '../neutral/scalar-paths.ts';
import type { Target } from '../neutral/target.ts';
import { UPSTREAMS } from '../protocols/protocols.ts';
import type { Path } from '../wire/path.ts';

const JSON_INSTRUCTION = 'Answer with one JSON object and nothing else.';

/** The forced tool whose arguments are the answer. */
const ANSWER_TOOL = 'give_answer';

/** Stands for a choice that demands a call, where the model takes none. */
const CALL_INSTRUCTION = 'Do not answer in text: call a tool.';

interface Emulated {
  readonly conversation: Conversation;
  readonly answerTool: string | null;
}

/**
 * Replaces structured output by other means where the upstream has none: for a schema one forced tool, for
 * "any object" an instruction, which is no guarantee and is reported.
 * @throws GatewayError where a schema comes together with the caller's own tools
 */
export function emulateOutputFormat(conversation: Conversation, target: Target, losses: Losses): Emulated {
  const { outputFormat: format, system, tools } = conversation;
  const unchanged: Emulated = { conversation, answerTool: null };
  if (format === undefined || format.type === 'text') return unchanged;
  const path = pathsOf(conversation).outputFormat;
  const { structuredOutput } = target.quirks;
  if (format.type === 'object') {
    if (UPSTREAMS[target.protocol].hasObjectFormat && structuredOutput !== 'none') return unchanged;
    losses.drop(path, 'requested by an instruction, not guaranteed');
    const instruction = { type: 'text', text: JSON_INSTRUCTION, at: path } as const;
    return {
      conversation: { ...conversation, outputFormat: undefined, system: [...system, instruction] },
      answerTool: null,
    };
  }
  if (structuredOutput === 'schema') return unchanged;
  if (tools.length > 0) {
    refuseParameter(
      path,
      'Structured output together with tools is not supported by the model that would answer.',
    );
  }
  const tool = {
    type: 'function',
    name: ANSWER_TOOL,
    description: format.description ?? 'Gives the answer to the user.',
    parameters: format.schema,
    strict: format.strict,
    at: path,
  } as const;
  return {
    conversation: {
      ...conversation,
      outputFormat: undefined,
      tools: [tool],
      toolChoice: { type: 'tool', tool: { name: ANSWER_TOOL, type: 'function' } },
    },
    answerTool: ANSWER_TOOL,
  };
}

/**
 * Replaces a demand for a call by an instruction, which is no guarantee and is reported; of a demand for one tool, the others are not
 * offered. For models that refuse such a choice.
 */
export function emulateDemand({ conversation, answerTool }: Emulated, path: Path, losses: Losses): Emulated {
  const { toolChoice, tools, system } = conversation;
  if (tools.length === 0 || toolChoice === undefined) return { conversation, answerTool };
  const isDemand =
    toolChoice.type === 'allowed'
      ? toolChoice.mode === 'required'
      : ['required', 'tool'].includes(toolChoice.type);
  if (!isDemand) return { conversation, answerTool };
  losses.drop(path, 'a call is requested by an instruction, not guaranteed');
  const offered =
    toolChoice.type === 'tool' ? [toolChoice.tool] : toolChoice.type === 'allowed' ? toolChoice.tools : null;
  return {
    conversation: {
      ...conversation,
      toolChoice: offered === null ? undefined : { type: 'allowed', mode: 'auto', tools: offered },
      system: [...system, { type: 'text', text: CALL_INSTRUCTION, at: path }],
    },
    answerTool,
  };
}
