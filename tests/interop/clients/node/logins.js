// The command `logins` of clients/README.md, by kafkajs.
'use strict'

const fs = require('fs')
const readline = require('readline')
const { Kafka, logLevel } = require('kafkajs')

const RECORDS = Array.from({ length: 10 }, (_, n) => `value-${n}`)
const WAIT_MS = 60000 // a busy machine may take longer than kafkajs's second for a TLS handshake

const NAMES = 'name servers protocol authority certificate mechanism user secret topic refused'.split(' ')

function clientFor(row) {
  const options = { clientId: 'kafkajs', brokers: [row.servers], logLevel: logLevel.NOTHING }
  if (row.protocol.endsWith('SSL')) {
    options.ssl = { ca: [fs.readFileSync(row.authority)] }
    if (row.certificate) options.ssl.cert = options.ssl.key = fs.readFileSync(row.certificate)
  }
  if (row.mechanism === 'OAUTHBEARER') {
    options.sasl = { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value: row.secret }) }
  } else if (row.mechanism) {
    options.sasl = { mechanism: row.mechanism.toLowerCase(), username: row.user, password: row.secret }
  }
  if (row.refused) options.retry = { retries: 0 }
  return new Kafka({ ...options, connectionTimeout: WAIT_MS, authenticationTimeout: WAIT_MS })
}

async function administer(kafka, topic) {
  const admin = kafka.admin()
  await admin.connect()
  await admin.createTopics({ topics: [{ topic, numPartitions: 2, replicationFactor: 1 }] })
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  await admin.disconnect()
  return topics[0].partitions.length
}

async function produce(kafka, topic) {
  const producer = kafka.producer({ transactionalId: topic, maxInFlightRequests: 1, idempotent: true })
  await producer.connect()
  const transaction = await producer.transaction()
  await transaction.send({ topic, acks: -1, messages: RECORDS.map(value => ({ value })) })
  await transaction.commit()
  await producer.disconnect()
}

async function consume(kafka, topic) {
  const consumer = kafka.consumer({ groupId: topic, maxWaitTimeInMs: 100, readUncommitted: false })
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  const values = []
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
    const eachMessage = async ({ message }) => {
      values.push(`${message.value}`)
      if (values.length === RECORDS.length) resolve()
    }
    consumer.run({ eachMessage }).catch(reject)
  })
  await consumer.disconnect()
  return values.sort()
}

async function use(row) {
  const kafka = clientFor(row)
  const partitions = await administer(kafka, row.topic)
  await produce(kafka, row.topic)
  return { partitions, values: await consume(kafka, row.topic) }
}

const texts = error => (error ? `${error.name}: ${error.message} ${texts(error.cause)}` : '')

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const fields = line.split('\t')
    const row = Object.fromEntries(NAMES.map((name, index) => [name, fields[index]]))
    const facts = await use(row).catch(error => ({ error: texts(error) }))
    console.log(JSON.stringify({ login: row.name, ...facts }))
  }
  process.exit(0) // connections of clients that could not log in may still be open
}

main().catch(error => {
  console.error(error)
  process.exit(1)
})
