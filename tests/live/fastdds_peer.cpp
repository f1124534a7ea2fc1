// One Fast DDS participant of a test: a subscriber of `quotes` with a content filter and a publisher of `back`, of a type
// made at run time, that finds others through a list of initial peers, without multicast.
//
// Arguments: the filter's expression. Says `ready`; `matched` is answered by both counts, `write N` by the number written
// once a reader is there and has everything, `got` by the sizes of all quotes that came, as JSON; ends with its input.
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/ContentFilteredTopic.hpp>
#include <fastdds/dds/topic/Topic.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastrtps/types/DynamicDataFactory.h>
#include <fastrtps/types/DynamicDataPtr.h>
#include <fastrtps/types/DynamicPubSubType.h>
#include <fastrtps/types/DynamicTypeBuilderFactory.h>
#include <fastrtps/types/DynamicTypeBuilderPtr.h>
#include <fastrtps/utils/IPLocator.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace eprosima::fastdds::dds;
using namespace eprosima::fastrtps::types;
using eprosima::fastrtps::rtps::IPLocator;
using eprosima::fastrtps::rtps::Locator_t;

int main(int count, char** arguments) {
    if (count < 2) return 2;
    DomainParticipantQos qos = PARTICIPANT_QOS_DEFAULT;
    auto transport = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
    transport->interfaceWhiteList.push_back("127.0.0.1");
    qos.transport().use_builtin_transports = false;
    qos.transport().user_transports.push_back(transport);
    Locator_t here;
    here.kind = LOCATOR_KIND_UDPv4;
    here.port = 0;
    IPLocator::setIPv4(here, "127.0.0.1");
    auto& builtin = qos.wire_protocol().builtin;
    builtin.initialPeersList.push_back(here);
    builtin.metatrafficUnicastLocatorList.push_back(here);
    builtin.typelookup_config.use_server = true;
    builtin.typelookup_config.use_client = true;
    auto* participant = DomainParticipantFactory::get_instance()->create_participant(0, qos);
    if (!participant) return 1;

    auto* factory = DynamicTypeBuilderFactory::get_instance();
    DynamicTypeBuilder_ptr builder = factory->create_struct_builder();
    builder->set_name("Quote");
    builder->add_member(0, "symbol", factory->create_string_type(255));
    builder->add_member(1, "price", factory->create_float64_type());
    builder->add_member(2, "size", factory->create_int64_type());
    DynamicType_ptr dynamic = builder->build();
    TypeSupport type(new DynamicPubSubType(dynamic));
    type.get()->auto_fill_type_information(true);
    type.get()->auto_fill_type_object(true);
    type.register_type(participant);

    Topic* quotes = participant->create_topic("quotes", "Quote", TOPIC_QOS_DEFAULT);
    Topic* back = participant->create_topic("back", "Quote", TOPIC_QOS_DEFAULT);
    if (!quotes || !back) return 1;
    auto* filtered = participant->create_contentfilteredtopic("cheap", quotes, arguments[1], {});
    if (!filtered) return 1;
    DataReaderQos reading = DATAREADER_QOS_DEFAULT;
    reading.reliability().kind = RELIABLE_RELIABILITY_QOS;
    reading.history().kind = KEEP_ALL_HISTORY_QOS;
    DataWriterQos writing = DATAWRITER_QOS_DEFAULT;
    writing.reliability().kind = RELIABLE_RELIABILITY_QOS;
    writing.history().kind = KEEP_ALL_HISTORY_QOS;
    writing.durability().kind = VOLATILE_DURABILITY_QOS;
    auto* reader = participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT)->create_datareader(filtered, reading);
    auto* writer = participant->create_publisher(PUBLISHER_QOS_DEFAULT)->create_datawriter(back, writing);
    if (!reader || !writer) return 1;
    std::cout << "ready" << std::endl;

    std::vector<int64_t> got;
    std::string line;
    while (std::getline(std::cin, line)) {
        if (line == "matched") {
            SubscriptionMatchedStatus read;
            PublicationMatchedStatus written;
            reader->get_subscription_matched_status(read);
            writer->get_publication_matched_status(written);
            std::cout << "[" << read.current_count << ", " << written.current_count << "]" << std::endl;
        } else if (line.rfind("write ", 0) == 0) {
            int many = std::stoi(line.substr(6));
            for (int number = 0; number < many; ++number) {
                DynamicData_ptr data(DynamicDataFactory::get_instance()->create_data(dynamic));
                data->set_string_value("fast", 0);
                data->set_float64_value(number, 1);
                data->set_int64_value(number, 2);
                writer->write(data.get());
            }
            writer->wait_for_acknowledgments({60, 0});
            std::cout << many << std::endl;
        } else if (line == "got") {
            SampleInfo info;
            DynamicData_ptr data(DynamicDataFactory::get_instance()->create_data(dynamic));
            while (reader->take_next_sample(data.get(), &info) == ReturnCode_t::RETCODE_OK) {
                if (info.valid_data) got.push_back(data->get_int64_value(2));
            }
            std::cout << "[";
            for (size_t at = 0; at < got.size(); ++at) std::cout << (at ? ", " : "") << got[at];
            std::cout << "]" << std::endl;
        }
    }
    _exit(0);
}
