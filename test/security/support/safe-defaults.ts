import type { Finding } from './findings';
import { isSame, jsonOf, listOf, referencesIn, Resource, Statement, statementsOf, Template, textOf, type Json } from './template';

/** What a rule finds: a resource, and what of it where there may be more than one thing. */
type Found = readonly [resource: Resource, detail?: string];
type Rule = (template: Template) => readonly Found[];

/** Days. More than a year of logs is no default. */
const LONGEST_LOG_RETENTION = 366;

/** Seconds and attempts: what was not done within an hour is the business of the next run. */
const OLDEST_EVENT = 3_600;
const MOST_RETRIES = 2;

/** The oldest version of Node.js that Lambda still supports. */
const OLDEST_NODE = 22;

/** Our tables alone, which are keyed by token id. */
const tables = (template: Template) => template.all('AWS::DynamoDB::GlobalTable')
  .filter(({ properties }) => listOf(properties.KeySchema).some(key => jsonOf(key).AttributeName === 'tokenId'));

const replicasOf = ({ properties }: Resource) => listOf(properties.Replicas).map(jsonOf);

const functions = (template: Template) => template.all('AWS::Lambda::Function');

const variablesOf = ({ properties }: Resource) => jsonOf(jsonOf(properties.Environment).Variables);

/** Functions that refresh a token, ours and the user's. */
const refreshers = (template: Template) => functions(template).filter(fn => variablesOf(fn).SHARED_TOKEN_ID !== undefined);

const roleOf = (template: Template, value: unknown) => template.referredBy(value, 'AWS::IAM::Role');

const schedules = (template: Template) => template.all('AWS::Scheduler::Schedule').map(schedule => ({ schedule, target: jsonOf(schedule.properties.Target) }));

/** How many functions and schedules go by a role. */
const usersOf = (template: Template, role: Resource) => [
  ...functions(template).map(({ properties }) => properties.Role), ...schedules(template).map(({ target }) => target.RoleArn),
].filter(value => roleOf(template, value) === role).length;

const isWild = (text: string) => /[*?]/.test(text.replace(/<[^>]*>/g, ''));

const isAtMost = (value: unknown, most: number) => typeof value === 'number' && value <= most;

const having = (resources: readonly Resource[], isWrong: (resource: Resource) => boolean): Found[] =>
  resources.filter(isWrong).map((resource): Found => [resource]);

/** What qualifies the invocations of a function that nobody waits for: none, its aliases, and the versions that a deployment invokes so. */
function asyncQualifiers(template: Template, fn: Resource): (string | Resource)[] {
  const isOfFunction = ({ properties }: Resource) => template.referredBy(properties.FunctionName, 'AWS::Lambda::Function') === fn;
  const invoked = template.all('Custom::Trigger').filter(({ properties }) => properties.InvocationType === 'Event')
    .map(({ properties }) => template.referredBy(properties.HandlerArn, 'AWS::Lambda::Version'));
  const aliases = template.all('AWS::Lambda::Alias').filter(isOfFunction);
  return ['$LATEST', ...aliases, ...template.all('AWS::Lambda::Version').filter(version => isOfFunction(version) && invoked.includes(version))];
}

function isBounded(template: Template, fn: Resource, qualifier: string | Resource): boolean {
  const config = template.all('AWS::Lambda::EventInvokeConfig').map(({ properties }) => properties).find(({ FunctionName, Qualifier }) =>
    template.referredBy(FunctionName, 'AWS::Lambda::Function') === fn
    && (typeof qualifier === 'string' ? Qualifier === qualifier : referencesIn(Qualifier).includes(qualifier.id)));
  if (!config) return false;
  const { OnFailure } = jsonOf(config.DestinationConfig);
  return jsonOf(OnFailure).Destination !== undefined
    && isAtMost(config.MaximumRetryAttempts, MOST_RETRIES) && isAtMost(config.MaximumEventAgeInSeconds, OLDEST_EVENT);
}

const policiesOfQueue = (template: Template, queue: Resource) => template.all('AWS::SQS::QueuePolicy')
  .filter(({ properties }) => listOf(properties.Queues).some(one => template.referredBy(one, 'AWS::SQS::Queue') === queue))
  .flatMap(({ properties }) => statementsOf(properties.PolicyDocument));

const isAnybody = (principal: unknown) => principal === '*' || jsonOf(principal).AWS === '*';

const deniesPlainText = (template: Template, queue: Resource) => ({ effect, actions, principal, condition, resourceValues }: Statement) =>
  effect === 'Deny' && isAnybody(principal) && isSame(actions, ['sqs:*']) && isSame(condition, { Bool: { 'aws:SecureTransport': 'false' } })
  && resourceValues.length === 1 && template.referredBy(resourceValues[0], 'AWS::SQS::Queue') === queue;

/** One alias, and where its failures go: the queue, and through SQS alone the queue's key. */
function isOfSchedule(
  template: Template, { Arn: alias, DeadLetterConfig: failures }: Json, { actions, resourceValues, condition }: Statement,
): boolean {
  const [resource, ...others] = resourceValues;
  if (others.length > 0) return false;
  if (isSame(actions, ['lambda:InvokeFunction'])) return isSame(resource, alias);
  if (isSame(actions, ['sqs:SendMessage'])) return isSame(resource, jsonOf(failures).Arn);
  const { KmsMasterKeyId: key } = template.referredBy(jsonOf(failures).Arn, 'AWS::SQS::Queue')?.properties ?? {};
  const via = textOf(jsonOf(condition.StringEquals)['kms:ViaService']);
  return isSame([...actions].sort(), ['kms:Decrypt', 'kms:GenerateDataKey']) && isSame(resource, key) && /^sqs\.[^.]+\.amazonaws\.com$/.test(via);
}

/** By their names, which are part of what is found. */
export const RULES = {
  /** DynamoDB encrypts every table: with a key of its own where nothing is said of it. What can go wrong is that a key is named and not used. */
  'table-encryption': template => having(tables(template), table => {
    const encryption = table.properties.SSESpecification;
    const isKeyNamed = replicasOf(table).some(({ SSESpecification }) => SSESpecification !== undefined);
    return encryption === undefined ? isKeyNamed : !isSame(encryption, { SSEEnabled: true, SSEType: 'KMS' });
  }),
  'table-recovery': template => having(tables(template), table => replicasOf(table)
    .some(({ PointInTimeRecoverySpecification: recovery }) => jsonOf(recovery).PointInTimeRecoveryEnabled !== true)),
  /** Neither with its stack, nor by a change that replaces it, nor by hand. */
  'table-protection': template => having(tables(template), table => table.deletionPolicy !== 'Retain' || table.updateReplacePolicy !== 'Retain'
    || replicasOf(table).some(({ DeletionProtectionEnabled }) => DeletionProtectionEnabled !== true)),
  'table-access': template => having(tables(template), table => [table.properties, ...replicasOf(table)]
    .some(({ ResourcePolicy }) => ResourcePolicy !== undefined)),
  /** A stream would carry tokens to whoever may read it. */
  'table-stream': template => having(tables(template), table => [table.properties, ...replicasOf(table)]
    .some(({ StreamSpecification, KinesisStreamSpecification }) => StreamSpecification !== undefined || KinesisStreamSpecification !== undefined)),
  'table-expiry': template => having(tables(template), ({ properties }) =>
    !isSame(properties.TimeToLiveSpecification, { AttributeName: 'expireAfter', Enabled: true })),
  'table-billing': template => having(tables(template), ({ properties }) => properties.BillingMode !== 'PAY_PER_REQUEST'),

  /** Of its own: what one refresher may do, no other function may. */
  'refresher-role': template => having(refreshers(template), ({ properties }) => {
    const role = roleOf(template, properties.Role);
    return role === undefined || usersOf(template, role) > 1;
  }),
  'refresher-failures': template => refreshers(template).flatMap(fn => asyncQualifiers(template, fn).filter(qualifier => !isBounded(template, fn, qualifier))
    .map((qualifier): Found => [fn, typeof qualifier === 'string' ? qualifier : qualifier.type])),
  /** Who may invoke it says the policy of who does: no service, no account, no address. */
  'refresher-access': template => having(refreshers(template), fn => {
    const qualified = ['AWS::Lambda::Alias', 'AWS::Lambda::Version'].flatMap(type => template.all(type))
      .filter(({ properties }) => referencesIn(properties.FunctionName).includes(fn.id)).map(({ id }) => id);
    return ['AWS::Lambda::Permission', 'AWS::Lambda::Url', 'AWS::Lambda::EventSourceMapping'].flatMap(type => template.all(type))
      .some(({ properties }) => referencesIn([properties.FunctionName, properties.TargetFunctionArn]).some(id => [fn.id, ...qualified].includes(id)));
  }),

  'function-log': template => having(functions(template), ({ properties }) =>
    template.referredBy(jsonOf(properties.LoggingConfig).LogGroup, 'AWS::Logs::LogGroup') === undefined),
  /** CloudFormation would write the value of the secret there. */
  'function-secrets': template => having(functions(template), fn => /\{\{resolve:(secretsmanager|ssm-secure):/.test(JSON.stringify(variablesOf(fn)))),
  'function-runtime': template => having(functions(template), ({ properties }) => template.valuesOf(properties.Runtime)
    .some(runtime => Number(/^nodejs(\d+)\.x$/.exec(String(runtime))?.[1] ?? 0) < OLDEST_NODE)),
  'log-retention': template => having(template.all('AWS::Logs::LogGroup'), ({ properties }) => !isAtMost(properties.RetentionInDays, LONGEST_LOG_RETENTION)),

  'policy-action': template => template.identityStatements().flatMap(({ holder, statement: { effect, actions, negations } }) => effect !== 'Allow' ? [] : [
    ...actions.filter(isWild), ...negations,
  ].map((detail): Found => [holder, detail])),
  'policy-resource': template => template.identityStatements().flatMap(({ holder, statement: { effect, actions, resources } }) => effect !== 'Allow' ? [] :
    resources.filter(isWild).map((resource): Found => [holder, `${actions.join(', ')} on ${resource}`])),
  'policy-managed': template => template.all('AWS::IAM::Role').flatMap(role => listOf(role.properties.ManagedPolicyArns)
    .map((arn): Found => [role, textOf(arn).split('/').at(-1)])),
  /** One service. */
  'role-trust': template => having(template.all('AWS::IAM::Role'), ({ properties }) => {
    const [statement, ...others] = statementsOf(properties.AssumeRolePolicyDocument);
    if (!statement || others.length > 0) return true;
    const { Service: service, ...rest } = jsonOf(statement.principal);
    return !isSame(statement.actions, ['sts:AssumeRole']) || !/^[a-z-]+\.amazonaws\.com$/.test(textOf(service)) || Object.keys(rest).length > 0;
  }),

  'queue-encryption': template => having(template.all('AWS::SQS::Queue'), ({ properties }) =>
    properties.SqsManagedSseEnabled !== true && properties.KmsMasterKeyId === undefined),
  'queue-tls': template => having(template.all('AWS::SQS::Queue'), queue => !policiesOfQueue(template, queue).some(deniesPlainText(template, queue))),
  'queue-access': template => having(template.all('AWS::SQS::Queue'), queue => policiesOfQueue(template, queue).some(({ effect }) => effect === 'Allow')),
  'queue-retention': template => having(template.all('AWS::SQS::Queue'), ({ properties }) => typeof properties.MessageRetentionPeriod !== 'number'),

  'schedule-target': template => schedules(template).filter(({ target }) => !template.referredBy(target.Arn, 'AWS::Lambda::Alias'))
    .map(({ schedule }): Found => [schedule]),
  /** Of its own, and for one thing. */
  'schedule-role': template => schedules(template).filter(({ target }) => {
    const role = roleOf(template, target.RoleArn);
    return role === undefined || usersOf(template, role) > 1
      || !template.statementsOfRole(role).every(statement => isOfSchedule(template, target, statement));
  }).map(({ schedule }): Found => [schedule]),
  /** https://docs.aws.amazon.com/scheduler/latest/UserGuide/cross-service-confused-deputy-prevention.html: the group, not the schedule. */
  'schedule-deputy': template => schedules(template).filter(({ target }) => {
    const [statement] = statementsOf(roleOf(template, target.RoleArn)?.properties.AssumeRolePolicyDocument);
    const { 'aws:SourceAccount': account, 'aws:SourceArn': arn } = jsonOf(statement?.condition.StringEquals);
    return account === undefined || !/^arn:<AWS::Partition>:scheduler:[^*?]+:schedule-group\/[\w.-]+$/.test(textOf(arn));
  }).map(({ schedule }): Found => [schedule]),
  'schedule-failures': template => schedules(template).filter(({ target }) => {
    const { MaximumRetryAttempts: attempts, MaximumEventAgeInSeconds: age } = jsonOf(target.RetryPolicy);
    return jsonOf(target.DeadLetterConfig).Arn === undefined || !isAtMost(attempts, MOST_RETRIES) || !isAtMost(age, OLDEST_EVENT);
  }).map(({ schedule }): Found => [schedule]),
} satisfies Readonly<Record<string, Rule>>;

export type RuleName = keyof typeof RULES;

/** All that the rules find in a template. */
export function violationsOf(stack: string, template: Json): Finding[] {
  const parsed = new Template(template);
  return (Object.entries(RULES) as [RuleName, Rule][]).flatMap(([rule, find]) => find(parsed)
    .map(([{ id }, detail]): Finding => ({ stack, construct: id, finding: detail === undefined ? rule : `${rule}[${detail}]` })));
}
