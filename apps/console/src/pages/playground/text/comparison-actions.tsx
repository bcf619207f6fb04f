import { Button, Group, Loader, Stack, Text } from '@mantine/core';
import { IconCode, IconShare } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { CopyField } from '../../../parts/copy-field.tsx';
import { Dialog } from '../../../parts/dialog.tsx';
import { hrefOf } from '../../../parts/page/page-link.tsx';
import { SideDrawer } from '../../../parts/side-drawer.tsx';
import { useDesk } from '../desk.ts';
import { CodeSamples } from '../exchange/exchange-details.tsx';
import type { PlaygroundSearch } from '../playground-search.ts';
import { isWhole, PROTOCOLS, type ProtocolName, type Turn } from './conversation.ts';
import type { TextSettings } from './protocol.ts';
import { hashOf, type Shared } from './shared-comparison.ts';

interface ComparisonActionsProps {
  readonly columns: readonly { readonly model: string; readonly turns: readonly Turn[] }[];
  readonly protocol: ProtocolName;
  /** Undefined: there is a mistake in them. */
  readonly settings: TextSettings | undefined;
  readonly search: PlaygroundSearch;
}

/** The comparison as a link for others, and as code. */
export function ComparisonActions({ columns, protocol, settings, search }: ComparisonActionsProps) {
  const { drafts } = useDesk();
  const [shown, setShown] = useState<'link' | 'code'>();
  const close = () => setShown(undefined);
  /** What is being written, or what was sent last. */
  const message = drafts.get('message')?.trim() || lastMessage(columns.flatMap(({ turns }) => turns));
  const models = columns.map(({ model }) => model);
  const isEmpty = models.length === 0;
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconShare size={16} aria-hidden />}
        disabled={isEmpty}
        onClick={() => setShown('link')}
      >
        Share
      </Button>
      <Button
        variant="default"
        leftSection={<IconCode size={16} aria-hidden />}
        disabled={isEmpty || settings === undefined}
        onClick={() => setShown('code')}
      >
        Export code
      </Button>
      {shown === 'link' && (
        <ShareDialog
          search={{ ...search, protocol, models }}
          shared={{
            message,
            system: drafts.get('system') ?? '',
            tools: drafts.get('tools') ?? '',
            schema: drafts.get('schema') ?? '',
            answers: columns.flatMap(({ model, turns }) => {
              const text = answerTo(message, turns);
              return text === undefined ? [] : [{ model, text }];
            }),
          }}
          onClose={close}
        />
      )}
      {shown === 'code' && settings && (
        <SideDrawer
          onClose={close}
          size="xl"
          title={
            <Text fw={600} component="span">
              Comparison as code
            </Text>
          }
        >
          <CodeSamples
            of={{
              path: PROTOCOLS[protocol].path,
              body: {
                kind: 'json',
                json: PROTOCOLS[protocol].body({
                  ...{ model: models[0] ?? '', settings },
                  input: PROTOCOLS[protocol].userMessage({ text: message, pictures: [] }),
                }),
              },
            }}
            models={models}
            note="It sends the message to each model in turn."
          />
        </SideDrawer>
      )}
    </>
  );
}

const textOf = ({ sent }: Turn): string => ('message' in sent ? sent.message.text : '');
const lastMessage = (turns: readonly Turn[]): string =>
  turns.map(textOf).findLast((text) => text !== '') ?? '';

const answerTo = (message: string, turns: readonly Turn[]): string | undefined =>
  turns.findLast((turn) => textOf(turn) === message && isWhole(turn))?.exchange.live.get().answer.text;

interface ShareDialogProps {
  readonly search: PlaygroundSearch;
  readonly shared: Shared;
  readonly onClose: () => void;
}

function ShareDialog({ search, shared, onClose }: ShareDialogProps) {
  const { basepath } = useRouter();
  const link = useQuery({
    queryKey: ['playground', 'share', shared],
    queryFn: () => hashOf(shared),
    staleTime: 'static',
  });
  const view = { ...search, from: undefined };
  return (
    <Dialog onClose={onClose} title="Share this comparison" size="lg">
      <Stack gap="sm">
        {link.data === undefined ? (
          <Group>
            <Loader size="sm" role="status" aria-label="Making the link" />
          </Group>
        ) : link.data === null ? (
          <Text size="sm">
            The message and the settings are too long for a link. Export the code instead.
          </Text>
        ) : (
          <>
            <CopyField
              label="Link"
              value={`${location.origin}${basepath}${hrefOf('/playground', view)}#${link.data.hash}`}
            />
            <Text size="sm">
              {link.data.hasAnswers || shared.answers.length === 0
                ? 'Anyone with this link can read the message, the settings and the answers in it'
                : 'The answers are too long for a link and are left out. Anyone with this link can read the message and the settings in it'}
              , and needs access to the console to open it. They follow the # of the address, which browsers
              do not send to any server. Images are not included. The key is named by its ID only.
            </Text>
          </>
        )}
      </Stack>
    </Dialog>
  );
}
