import { Button, Paper, Stack, Text, Textarea, Title } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { ExchangeView } from '../exchange/exchange-view.tsx';
import { AnswerView } from './answer-view.tsx';
import { isRunning, openCalls, type Turn } from './conversation.ts';
import { dataUrl, type ToolCall, type ToolResult } from './protocol.ts';
import classes from './text-panel.module.css';

interface TextColumnProps {
  readonly model: string;
  readonly turns: readonly Turn[];
  /** Whether the page scrolls to what is sent. */
  readonly isFollowed: boolean;
  readonly onResults: (results: readonly ToolResult[]) => void;
}

/** The conversation with one model. */
export function TextColumn({ model, turns, isFollowed, onResults }: TextColumnProps) {
  const latest = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isFollowed && turns.length > 0) latest.current?.scrollIntoView({ block: 'start' });
  }, [isFollowed, turns.length]);
  const calls = turns.some(isRunning) ? [] : openCalls(turns);
  return (
    <Paper withBorder p="sm" component="section" aria-label={`Conversation with ${model}`} miw={0}>
      <Title order={2} size="h5" mb="xs" className={classes.model}>
        {model}
      </Title>
      <Stack gap="md">
        {turns.length === 0 && (
          <Text size="sm" c="dimmed">
            Nothing sent yet.
          </Text>
        )}
        {turns.map(({ id, sent, exchange }) => (
          <Stack key={id} gap="xs" className={classes.turn} ref={latest}>
            <Sent of={sent} />
            <ExchangeView
              of={exchange}
              waiting="Waiting for an answer …"
              whenStopped="The partial answer is not part of the conversation."
            >
              {(answer) => <AnswerView of={answer} />}
            </ExchangeView>
          </Stack>
        ))}
        {calls.length > 0 && (
          <ToolResults key={calls.map(({ id }) => id).join()} calls={calls} onSend={onResults} />
        )}
      </Stack>
    </Paper>
  );
}

function Sent({ of }: { of: Turn['sent'] }) {
  if ('results' in of)
    return (
      <div className={classes.sent}>
        {of.results.map(({ call: { id, name }, output }) => (
          <Text key={id} size="sm" className={classes.text}>
            Result of <code>{name}</code>: {output === '' ? 'nothing' : output}
          </Text>
        ))}
      </div>
    );
  const { text, pictures } = of.message;
  return (
    <div className={classes.sent}>
      {pictures.map((picture) => (
        <img key={picture.name} src={dataUrl(picture)} alt={picture.name} className={classes.picture} />
      ))}
      {text !== '' && (
        <Text size="sm" className={classes.text}>
          {text}
        </Text>
      )}
    </div>
  );
}

interface ToolResultsProps {
  readonly calls: readonly ToolCall[];
  readonly onSend: (results: readonly ToolResult[]) => void;
}

/** The person stands in for the tools that a model has called. */
function ToolResults({ calls, onSend }: ToolResultsProps) {
  const [outputs, setOutputs] = useState<Readonly<Record<string, string>>>({});
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSend(calls.map((call) => ({ call, output: outputs[call.id] ?? '' })));
      }}
    >
      <Stack gap="xs">
        {calls.map(({ id, name }) => (
          <Textarea
            key={id}
            label={`Result of ${name}`}
            size="xs"
            autosize
            minRows={1}
            maxRows={8}
            value={outputs[id] ?? ''}
            onChange={({ currentTarget: { value } }) => setOutputs((before) => ({ ...before, [id]: value }))}
          />
        ))}
        <Button type="submit" size="xs" variant="default">
          Send {calls.length === 1 ? 'the result' : 'the results'}
        </Button>
      </Stack>
    </form>
  );
}
