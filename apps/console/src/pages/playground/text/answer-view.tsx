import { Accordion, Alert, Badge, Code, Group, Paper, Stack, Text } from '@mantine/core';
import type { TextAnswer, ToolCall } from './protocol.ts';
import { jsonOf } from './protocol.ts';
import classes from './text-panel.module.css';

const TOO_LONG = 'Cut off at the maximum number of output tokens.';

/** Reasons for which an answer is not what was asked for, in the words of any protocol. */
const ABOUT_STOP: Readonly<Record<string, string>> = {
  refusal: 'The model refused.',
  content_filter: 'Stopped by a content filter.',
  max_tokens: TOO_LONG,
  max_output_tokens: TOO_LONG,
  length: TOO_LONG,
};

/** What a model has answered so far: reasoning apart, text, tool calls. */
export function AnswerView({ of: answer }: { of: TextAnswer }) {
  const { text, reasoning, refusal, toolCalls, stopReason } = answer;
  return (
    <Stack gap="xs">
      {reasoning !== '' && <Reasoning of={reasoning} />}
      {text !== '' && <AnswerText of={text} isWhole={stopReason !== null} />}
      {refusal !== '' && (
        <Alert color="orange" variant="light" title="The model refused" p="xs">
          <Text size="sm" c="var(--mantine-color-text)">
            {refusal}
          </Text>
        </Alert>
      )}
      {toolCalls.map((call, at) => (
        <ToolCallView key={at} of={call} />
      ))}
      {stopReason !== null && (
        <Group gap="xs">
          <Badge variant="default" size="sm" fw={400}>
            {stopReason}
          </Badge>
          {ABOUT_STOP[stopReason] !== undefined && <Text size="xs">{ABOUT_STOP[stopReason]}</Text>}
        </Group>
      )}
    </Stack>
  );
}

const Reasoning = ({ of: reasoning }: { of: string }) => (
  <Accordion variant="contained" chevronPosition="left" classNames={{ label: classes.reasoning ?? '' }}>
    <Accordion.Item value="reasoning">
      <Accordion.Control>
        <Text size="sm" c="dimmed">
          Reasoning
        </Text>
      </Accordion.Control>
      <Accordion.Panel>
        <Text size="sm" c="dimmed" className={classes.text}>
          {reasoning}
        </Text>
      </Accordion.Panel>
    </Accordion.Item>
  </Accordion>
);

/** A text as it is written; structured output laid out once it is whole. */
function AnswerText({ of: text, isWhole }: { of: string; isWhole: boolean }) {
  const json = isWhole && /^\s*[[{]/.test(text) ? jsonOf(text) : null;
  if (json === null)
    return (
      <Text size="sm" className={classes.text}>
        {text}
      </Text>
    );
  return (
    <Code block aria-label="Structured output" className={classes.text}>
      {JSON.stringify(json, null, 2)}
    </Code>
  );
}

function ToolCallView({ of: { name, arguments: json } }: { of: ToolCall }) {
  const value = jsonOf(json);
  return (
    <Paper withBorder p="xs" component="section" aria-label={`Call to ${name}`}>
      <Text size="sm" mb={4}>
        Calls <code>{name}</code>
      </Text>
      <Code block className={classes.text}>
        {value === null ? json : JSON.stringify(value, null, 2)}
      </Code>
    </Paper>
  );
}
