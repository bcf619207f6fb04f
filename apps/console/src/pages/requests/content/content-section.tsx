import { Alert, Badge, Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../../api/client.ts';
import { useMay } from '../../../api/permissions.ts';
import type { RequestContent, ShownRequest } from '../../../api/types.ts';
import classes from './content.module.css';
import { ShownConversation } from './conversation.tsx';
import { Block, Turns } from './shown-turns.tsx';
import { pretty, turnsOf } from './turns.ts';

const NOT_LOGGED: Readonly<Record<Exclude<ShownRequest['content'], 'logged'>, string>> = {
  off: 'Not logged: no rule of the content log applied to this request.',
  share: 'Not logged: this request was not in the share that is logged.',
  caller: 'Not logged: the caller opted out.',
};

type Wanted = 'request' | 'conversation';

/** What a request asked and was answered, and its session. It is read when a person wants it, since each reading is an entry of the audit log. */
export function ContentSection({ of: request }: { of: ShownRequest }) {
  const may = useMay();
  const [wanted, setWanted] = useState<Wanted | null>(null);
  const { id, content, session } = request;
  const path = { path: { id } };
  const one = useReading('content', id, wanted === 'request', () =>
    bodyOf(api.GET('/admin/v1/requests/{id}/content', { params: path })),
  );
  const all = useReading('conversation', id, wanted === 'conversation', () =>
    bodyOf(api.GET('/admin/v1/requests/{id}/conversation', { params: path })),
  );
  const isLogged = content === 'logged';
  if (isLogged && !may('GET /admin/v1/requests/{id}/content'))
    return <Text size="sm">Logged. Your role may not read it.</Text>;
  const mayAll = session !== null && may('GET /admin/v1/requests/{id}/conversation');
  const error = wanted === 'conversation' ? all.error : one.error;
  const show = (
    which: Wanted,
    { isError, refetch }: { readonly isError: boolean; readonly refetch: () => Promise<unknown> },
  ) => {
    setWanted(which);
    if (isError) void refetch();
  };
  return (
    <Stack gap="xs">
      {!isLogged && <Text size="sm">{NOT_LOGGED[content]}</Text>}
      {error !== null && (
        <Alert variant="light" color="orange" role="alert">
          <Text size="sm" c="var(--mantine-color-text)">
            {error.message}
          </Text>
        </Alert>
      )}
      {(isLogged || mayAll) && (
        <Group gap="xs">
          {isLogged && (wanted !== 'request' || one.data === undefined) && (
            <Button
              variant="default"
              loading={wanted === 'request' && one.isFetching}
              onClick={() => show('request', one)}
            >
              Show content
            </Button>
          )}
          {mayAll && (wanted !== 'conversation' || all.data === undefined) && (
            <Button
              variant="default"
              loading={wanted === 'conversation' && all.isFetching}
              onClick={() => show('conversation', all)}
            >
              Show conversation
            </Button>
          )}
        </Group>
      )}
      {(isLogged || mayAll) && <Text size="sm">Each view is recorded in the audit log.</Text>}
      {wanted === 'request' && one.data !== undefined && <ShownContent of={one.data} />}
      {wanted === 'conversation' && all.data !== undefined && <ShownConversation of={all.data} at={id} />}
    </Stack>
  );
}

/** Each reading is recorded: none happens by itself. */
const useReading = <Read,>(what: string, id: string, isWanted: boolean, queryFn: () => Promise<Read>) =>
  useQuery({
    ...{ queryKey: [`request-${what}`, id], queryFn, enabled: isWanted },
    ...{ staleTime: Number.POSITIVE_INFINITY, gcTime: 0, retry: false },
  });

/** What a request asked and was answered. */
function ShownContent({ of: content }: { of: RequestContent }) {
  const turns = turnsOf(content);
  return (
    <Stack gap="sm">
      <Notes of={content} />
      {turns === null ? (
        <Folded text={pretty(content.request)} />
      ) : (
        <>
          <Turns of={turns.asked} label="Request" />
          {turns.answered.length > 0 && <Turns of={turns.answered} label="Answer" />}
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

const Folded = ({ text }: { text: string }) => <Block text={text} />;

function Raw({ of: { request, answer } }: { of: RequestContent }) {
  return (
    <details>
      <summary className={classes.summary}>JSON</summary>
      <Block text={pretty({ request, answer })} />
    </details>
  );
}
