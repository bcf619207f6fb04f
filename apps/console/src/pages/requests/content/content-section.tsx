import { Alert, Anchor, Badge, Button, Code, Group, Paper, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../../api/client.ts';
import { useMay } from '../../../api/permissions.ts';
import type { RequestContent, ShownRequest } from '../../../api/types.ts';
import classes from './content.module.css';
import { type Piece, pretty, type Turn, turnsOf } from './turns.ts';

const NOT_LOGGED: Readonly<Record<Exclude<ShownRequest['content'], 'logged'>, string>> = {
  off: 'Not logged: no rule of the content log applied to this request.',
  share: 'Not logged: this request was not in the share that is logged.',
  caller: 'Not logged: the caller opted out.',
};

/** What a request asked and was answered. It is read when a person wants it, since each reading is an entry of the audit log. */
export function ContentSection({ of: request }: { of: ShownRequest }) {
  const may = useMay();
  const [isWanted, setWanted] = useState(false);
  const { id, content } = request;
  const found = useQuery({
    queryKey: ['request-content', id],
    queryFn: () => bodyOf(api.GET('/admin/v1/requests/{id}/content', { params: { path: { id } } })),
    enabled: isWanted,
    // Each reading is recorded: none happens by itself.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  if (content !== 'logged') return <Text size="sm">{NOT_LOGGED[content]}</Text>;
  if (!may('GET /admin/v1/requests/{id}/content'))
    return <Text size="sm">Logged. Your role may not read it.</Text>;
  if (found.data !== undefined) return <Shown of={found.data} />;
  return (
    <Stack gap="xs" align="flex-start">
      {found.error !== null && (
        <Alert variant="light" color="orange" role="alert">
          <Text size="sm" c="var(--mantine-color-text)">
            {found.error.message}
          </Text>
        </Alert>
      )}
      <Button
        variant="default"
        loading={found.isFetching}
        onClick={() => (isWanted ? void found.refetch() : setWanted(true))}
      >
        Show content
      </Button>
      <Text size="sm">Each view is recorded in the audit log.</Text>
    </Stack>
  );
}

function Shown({ of: content }: { of: RequestContent }) {
  const turns = turnsOf(content);
  return (
    <Stack gap="sm">
      <Notes of={content} />
      {turns === null ? (
        <Folded text={pretty(content.request)} />
      ) : (
        <>
          <Turns of={turns.asked} />
          {turns.answered.length > 0 && <Turns of={turns.answered} isAnswer />}
        </>
      )}
      {turns !== null && turns.answered.length === 0 && content.answer !== null && (
        <Folded text={pretty(content.answer)} />
      )}
      {content.answer === null && <Text size="sm">No answer was logged.</Text>}
      {content.error !== undefined && (
        <Text size="sm">
          Ended with <code>{content.error.code}</code>: {content.error.message}
        </Text>
      )}
      <Raw of={content} />
    </Stack>
  );
}

const CUT = { request: 'The oldest part of the request was cut.', answer: 'The answer was cut.' } as const;

function Notes({ of: { redacted = {}, cut = [], isPartial } }: { of: RequestContent }) {
  const counts = Object.entries(redacted);
  return (
    <Group gap={6}>
      {counts.length > 0 && <Text size="sm">Redacted:</Text>}
      {counts.map(([name, count]) => (
        <Badge key={name} variant="outline" color="gray" tt="none">
          {name} × {count}
        </Badge>
      ))}
      {cut.map((side) => (
        <Text key={side} size="sm">
          {CUT[side]}
        </Text>
      ))}
      {isPartial && <Text size="sm">The answer broke off.</Text>}
    </Group>
  );
}

function Turns({ of: turns, isAnswer = false }: { of: readonly Turn[]; isAnswer?: boolean }) {
  return (
    <Stack gap="xs" component="ol" className={classes.turns} aria-label={isAnswer ? 'Answer' : 'Request'}>
      {turns.map((turn, at) => (
        <Paper key={at} component="li" withBorder p="xs" className={classes.turn} data-role={turn.role}>
          <Text size="xs" fw={600}>
            {turn.role}
          </Text>
          <Stack gap={6}>
            {turn.pieces.map((one, index) => (
              <ShownPiece key={index} of={one} />
            ))}
          </Stack>
        </Paper>
      ))}
    </Stack>
  );
}

const TITLES: Readonly<Record<Exclude<Piece['kind'], 'text'>, string>> = {
  reasoning: 'Reasoning',
  call: 'Tool call',
  result: 'Tool result',
  other: 'Other content',
};

function ShownPiece({ of: { kind, name, text } }: { of: Piece }) {
  if (kind === 'text') return <LongText text={text} />;
  return (
    <details>
      <summary className={classes.summary}>
        {TITLES[kind]}
        {name !== null && name !== '' && (
          <>
            {' '}
            <code>{name}</code>
          </>
        )}
      </summary>
      {kind === 'reasoning' ? <LongText text={text} /> : <Block text={text} />}
    </details>
  );
}

/** Longer texts are folded. */
const MAX_SHOWN = 1500;

function LongText({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > MAX_SHOWN;
  return (
    <>
      <Text size="sm" className={classes.text}>
        {isLong && !isWhole ? `${text.slice(0, MAX_SHOWN)}…` : text}
      </Text>
      {isLong && (
        <Anchor component="button" type="button" size="sm" ta="start" onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : `Show all ${text.length.toLocaleString('en')} characters`}
        </Anchor>
      )}
    </>
  );
}

const Block = ({ text }: { text: string }) => (
  <Code block className={classes.block} tabIndex={0}>
    {text}
  </Code>
);

const Folded = ({ text }: { text: string }) => <Block text={text} />;

function Raw({ of: { request, answer } }: { of: RequestContent }) {
  return (
    <details>
      <summary className={classes.summary}>JSON</summary>
      <Block text={pretty({ request, answer })} />
    </details>
  );
}
