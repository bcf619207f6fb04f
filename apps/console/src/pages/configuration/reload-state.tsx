import { Alert, Badge, Group, Paper, Stack, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { Configuration } from '../../api/types.ts';
import { Moment } from '../../parts/moment.tsx';
import { Facts, Names } from '../facts.tsx';
import { MistakeList } from './mistake-list.tsx';

const SOURCES: Readonly<Record<Configuration['source'], string>> = {
  file: 'a file',
  environment: 'the keys of providers in the environment',
  simulator: 'the simulator: there is neither a file nor a key of a provider',
};

/** Where the configuration comes from, and whether its last change took effect. */
export function ReloadState({ of }: { of: Configuration }) {
  return (
    <Stack gap="sm" mb="md">
      {!of.isValid && (
        <Alert
          color="red"
          variant="light"
          icon={<IconAlertTriangle aria-hidden />}
          title="The last change did not take effect"
          role="alert"
        >
          <Text size="sm" c="var(--mantine-color-text)" mb="xs">
            The services go on with the configuration before it. Correct <code>{of.path}</code>: they follow
            it at once.
          </Text>
          <MistakeList of={of.mistakes} />
        </Alert>
      )}
      <Paper withBorder px="md" py={6}>
        <Facts
          of={[
            ['From', of.source === 'file' ? <code key="from">{of.path}</code> : SOURCES[of.source]],
            ['Last reload', <LastReload key="reload" of={of} />],
            ['Has', `${of.channels} channels, ${of.models} models`],
            ...(of.unknownVariables.length === 0
              ? []
              : [
                  [
                    'Variables that only the services have',
                    <Names key="names" of={of.unknownVariables} />,
                  ] as const,
                ]),
          ]}
        />
      </Paper>
    </Stack>
  );
}

const LastReload = ({ of: { lastReload, isValid } }: { of: Configuration }) =>
  lastReload === null ? (
    'never: there is no file that could change'
  ) : (
    <Group gap="xs">
      <Moment at={lastReload.at} />
      <Badge size="sm" variant="dot" color={isValid ? 'teal' : 'red'}>
        {isValid ? 'took effect' : 'refused'}
      </Badge>
    </Group>
  );
