import { ActionIcon, Button, Group, Paper, Select, SimpleGrid, Stack, Text } from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { ROUTE_FIELDS, type RouteValues, routesOf } from './edit-fields.ts';
import { FieldInputs } from './field-inputs.tsx';

interface RouteInputsProps {
  /** The model as the draft has it. */
  readonly entry: unknown;
  readonly channels: readonly string[];
  readonly routes: readonly RouteValues[];
  readonly onChange: (routes: readonly RouteValues[]) => void;
}

/** The routes of a model: which channels serve it, and how its requests are spread over them. */
export function RouteInputs({ entry, channels, routes, onChange }: RouteInputsProps) {
  const old = routesOf(entry);
  const replace = (at: number, route: RouteValues) =>
    onChange(routes.map((one, index) => (index === at ? route : one)));
  return (
    <Stack gap="xs">
      {routes.map((route, at) => (
        <Paper key={route.index ?? `new ${at}`} withBorder p="sm" role="group" aria-label={`Route ${at + 1}`}>
          <Stack gap="xs">
            <Group justify="space-between">
              <Text size="sm" fw={600}>
                Route {at + 1}
              </Text>
              <ActionIcon
                variant="subtle"
                color="red"
                aria-label={`Remove route ${at + 1}`}
                onClick={() => onChange(routes.filter((_, index) => index !== at))}
              >
                <IconTrash size={16} aria-hidden />
              </ActionIcon>
            </Group>
            <Select
              label="Channel"
              data={[...channels]}
              value={route.channel}
              onChange={(channel) => channel !== null && replace(at, { ...route, channel })}
              allowDeselect={false}
              searchable
            />
            <SimpleGrid cols={{ base: 1, xs: 2 }} verticalSpacing="xs">
              <FieldInputs
                entry={route.index === null ? {} : old[route.index]}
                fields={ROUTE_FIELDS}
                values={route.values}
                onChange={(values) => replace(at, { ...route, values })}
              />
            </SimpleGrid>
          </Stack>
        </Paper>
      ))}
      <Group>
        <Button
          size="xs"
          variant="default"
          leftSection={<IconPlus size={14} aria-hidden />}
          disabled={channels.length === 0}
          onClick={() => onChange([...routes, { index: null, channel: channels[0] ?? '', values: {} }])}
        >
          Add a route
        </Button>
      </Group>
    </Stack>
  );
}
