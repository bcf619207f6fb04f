/** The requests that are measured, as JSON texts. */

const MODEL = 'gpt-5.2';

const small = { model: MODEL, input: 'Say hello.', store: false };

/** About what a coding agent sends on every turn: a long system prompt, many tools, some history. */
function agentRequest(): object {
  const paragraph =
    'You are a careful engineer. Read the code before you change it; prefer the smallest change that is right. ';
  const tools = Array.from({ length: 60 }, (_, index) => ({
    type: 'function',
    name: `tool_${index}`,
    description: `Does the thing number ${index}. ${paragraph.repeat(3)}`,
    strict: false,
    parameters: {
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 6 }, (_, argument) => [
          `argument_${argument}`,
          { type: 'string', description: `What to use as argument ${argument} of tool ${index}.` },
        ]),
      ),
      required: ['argument_0'],
      additionalProperties: false,
    },
  }));
  const history = Array.from({ length: 76 }, (_, index) => ({
    type: 'message',
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: [{ type: index % 2 === 0 ? 'input_text' : 'output_text', text: paragraph.repeat(5) }],
  }));
  return {
    model: MODEL,
    instructions: paragraph.repeat(100),
    input: [...history, { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go on.' }] }],
    tools,
    tool_choice: 'auto',
    store: false,
  };
}

export const REQUESTS = {
  small: JSON.stringify(small),
  /** The same for a model whose channel speaks another protocol. */
  translated: JSON.stringify({ ...small, model: 'claude-sonnet-5' }),
  streamed: JSON.stringify({ ...small, stream: true }),
  agent: JSON.stringify(agentRequest()),
  /** Twenty events a second for about five seconds. */
  paced: JSON.stringify({ ...small, input: 'Count. [[simulate tokens=100 pace=50]]', stream: true }),
} as const;
